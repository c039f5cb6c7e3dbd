"""pack: the rows of a run in one compressed file, to be kept and read."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

from warpcert.core.durable import write_whole
from warpcert.experiments.measured import FILE
from warpcert.experiments.plan import Plan
from warpcert.experiments.work import Workshop
from warpcert.run import choose
from warpcert.run.results import PACKED, describe, task_path


def pack(plan: Plan, workshop: Workshop, into: Workshop) -> int:
    """Write what was measured for a plan, and the verdicts of its runs without their fields.

    Returns how many verdicts that are. The same rows give the same bytes.
    """
    total = 0
    measured = workshop.place(plan) / FILE
    if measured.exists():
        into.place(plan).mkdir(parents=True, exist_ok=True)
        write_whole(into.place(plan) / FILE, measured.read_bytes())
    for run in plan.runs:
        parts = workshop.parts(plan, run)
        if not parts:
            continue
        rows = [replace(row, field=None) for row, _ in choose(parts)]
        task = parts[0].task
        assert task is not None  # or the rows could not have been chosen
        path = Path(f"{run.path(into.place(plan))}{PACKED}")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(task_path(path), describe(task))
        write_whole(path, gzip.compress(b"".join(row.line for row in rows), mtime=0))
        total += len(rows)
    return total
