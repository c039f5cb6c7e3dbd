"""merge: the results of several machines in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpcert.core.durable import write_whole
from warpcert.core.verdict import Status
from warpcert.run.consistency import Consistency
from warpcert.run.item import Key
from warpcert.run.results import Results, describe, fields_path, read_results, task_path
from warpcert.run.row import Row
from warpcert.run.store import writing
from warpcert.run.task import Task


def merge(paths: Sequence[Path], out: Path) -> Results:
    """Write the verdicts of results files of one task to a new file, each key once, in order.

    Of two verdicts on one key the first is kept, or the one that knows more; two that
    contradict each other are `Unsound`. Witnesses are copied. Wrong files are a ValueError.
    """
    parts = [read_results(path) for path in paths]
    task = _one_task(parts)
    if out.exists() and out.stat().st_size > 0:
        raise ValueError(f"{out} is there already: name another file, or remove it")
    with writing(out):
        rows = [_copy_field(row, path, out) for row, path in choose(parts)]
        write_whole(task_path(out), describe(task))
        write_whole(out, b"".join(row.line for row in rows))
    return read_results(out)


def choose(parts: Sequence[Results]) -> list[tuple[Row, Path]]:
    """One verdict for each key of a task that several files hold, in order, and its file."""
    chosen: dict[Key, tuple[Row, Path]] = {}
    consistency = Consistency()
    for part in parts:
        for row in part.rows:
            consistency.add(row)
            old = chosen.get(row.key)
            if old is None or (old[0].status is Status.UNKNOWN) > (row.status is Status.UNKNOWN):
                chosen[row.key] = row, part.path
    return [chosen[item.key] for item in _one_task(parts).items if item.key in chosen]


def _one_task(parts: Sequence[Results]) -> Task:
    """The task of all files; every file must say what it is, and say the same."""
    for part in parts:
        if part.task is None:
            raise ValueError(
                f"{part.path} has no {task_path(part.path).name} beside it: copy it there"
            )
        digests = {part.task.digest, *(row.task for row in part.rows)}
        if digests != {part.task.digest}:
            raise ValueError(f"{task_path(part.path)} is not the task of {part.path}")
    tasks = {part.task.digest: part for part in reversed(parts) if part.task is not None}
    if len(tasks) > 1:
        first, other, *_ = (tasks[digest] for digest in reversed(tasks))
        raise ValueError(
            f"{first.path} ({first.task}) and {other.path} ({other.task}) are of different tasks: "
            "merge the files of one"
        )
    (part,) = tasks.values()
    assert part.task is not None
    return part.task


def _copy_field(row: Row, path: Path, out: Path) -> Row:
    """Copy the witness of a row beside the new file; the row with its new path."""
    if row.field is None:
        return row
    folder = fields_path(out)
    folder.mkdir(exist_ok=True)
    name = Path(row.field).name
    try:
        content = (path.parent / row.field).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path.parent / row.field}, a witness of {path}, is missing") from None
    write_whole(folder / name, content)
    return row.at(f"{folder.name}/{name}")
