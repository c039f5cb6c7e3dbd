"""Runner: a task from its first verdict to its last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from warpcert.core.verdict import Verdict
from warpcert.run.consistency import Consistency
from warpcert.run.decider import Decider
from warpcert.run.gallery import Gallery
from warpcert.run.item import Item, Key
from warpcert.run.queue import Queue
from warpcert.run.row import Row, make_row
from warpcert.run.store import Store
from warpcert.run.task import Task
from warpcert.run.witness import Witness

Listener = Callable[[Row], None]


def _ignore(_: Row) -> None:
    """A listener for whom nothing is of interest."""


@final
@dataclass(frozen=True, eq=False)
class Runner:
    """Decides what a store does not hold yet, and puts it there as it comes."""

    task: Task
    gallery: Gallery
    decider: Decider

    def __call__(
        self,
        store: Store | None = None,
        items: Sequence[Item] | None = None,
        listener: Listener = _ignore,
    ) -> list[Row]:
        """The rows of some of the task's items (None: of all), those of earlier runs included.

        Without a store nothing is kept. The listener hears of every new row once it is safe.
        Verdicts that contradict each other are `Unsound`, and the later one is not kept.
        """
        items = self.task.items if items is None else items
        rows: dict[Key, Row] = {} if store is None else dict(store.rows)
        consistency = Consistency()
        for row in rows.values():
            consistency.add(row)
        queue = Queue(item for item in items if item.key not in rows)
        for done, verdicts in self.decider(self.gallery, queue):
            found = [self._found(*pair) for pair in zip(done, verdicts, strict=True)]
            for row, _ in found:
                consistency.add(row)
            kept = [row for row, _ in found] if store is None else store.add(found)
            for row in kept:
                rows[row.key] = row
                listener(row)
        return [rows[item.key] for item in items]

    def _found(self, item: Item, verdict: Verdict) -> tuple[Row, Witness | None]:
        row = make_row(self.task, self.gallery, item, verdict, self.decider.device)
        if verdict.field is None:
            return row, None
        return row, Witness(verdict.field, self.gallery.images[item.place])
