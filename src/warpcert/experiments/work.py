"""Work: run a plan, and read what was run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from warpcert.experiments.measured import MEASUREMENTS, measure
from warpcert.experiments.plan import Plan
from warpcert.experiments.run import Run
from warpcert.experiments.selection import ALL, Selection
from warpcert.run import Item, Results, Row, Runner, Store, choose, read_results

Go = Callable[[Run, Runner, Path, Sequence[Item]], None]


@final
@dataclass(frozen=True, eq=False)
class Workshop:
    """A folder with the rows of plans, one folder for each of these.

    Whole data sets are in ``root``, the networks of others in ``networks``.
    """

    folder: Path
    root: Path | None = None
    networks: Path | None = None

    def place(self, plan: Plan) -> Path:
        """Where the rows of a plan are."""
        return self.folder / plan.rows.name

    def run(
        self,
        plan: Plan,
        selection: Selection = ALL,
        devices: Sequence[str] = ("cpu",),
        go: Go | None = None,
    ) -> None:
        """Make what is selected and not there yet; ``go`` shows how verdicts come."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for run in filter(selection.takes, plan.runs):
            gallery = run.gallery(self.root)
            task = run.task(gallery, self.networks)
            items = selection.select(task.items)
            if items:
                self.place(plan).mkdir(exist_ok=True)
                path = run.path(self.place(plan), selection.shard)
                (go or _go)(run, Runner(task, gallery, run.decider(task, devices)), path, items)

    def measure(
        self, plan: Plan, device: str, *, quick: bool, listener: Callable[[str], None]
    ) -> None:
        """Measure what a plan asks for besides verdicts, where that is not there yet."""
        kind = MEASUREMENTS[plan.measure]
        measurement = kind.quick() if quick else kind.whole(self.root)
        measure(measurement, self.place(plan), device, listener)

    def has(self, plan: Plan) -> bool:
        """Whether there is something to show of a plan."""
        if not plan.rows.runs and not plan.measure:
            return True  # computed as it is drawn
        return self.place(plan).is_dir() and any(self.place(plan).glob("*.jsonl*"))

    def rows(self, plan: Plan, run: Run) -> list[Row]:
        """All verdicts of a run that are there, each once, in order."""
        parts = self.parts(plan, run)
        return [row for row, _ in choose(parts)] if parts else []

    def parts(self, plan: Plan, run: Run) -> list[Results]:
        """The results files of a run: whole, shared out, or packed."""
        paths = [
            path
            for end in ("jsonl", "jsonl.gz")
            for pattern in (f"{run.name}.{end}", f"{run.name}.*-of-*.{end}")
            for path in sorted(self.place(plan).glob(pattern))
        ]
        return [read_results(path) for path in paths]


def _go(_: Run, runner: Runner, path: Path, items: Sequence[Item]) -> None:
    """Keep the verdicts, and tell nobody."""
    with Store(path, runner.task) as store:
        runner(store, items)
