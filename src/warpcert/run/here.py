"""Here: verdicts made in this process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from warpcert.core.device import name_device
from warpcert.run.decider import Answer, Decider
from warpcert.run.desk import Desk
from warpcert.run.gallery import Gallery
from warpcert.run.pace import Pace
from warpcert.run.queue import Queue


@final
@dataclass(frozen=True, eq=False)
class Here(Decider):
    """One desk, one batch of at most so many after the other (None: as it goes)."""

    desk: Desk
    most: int | None = None

    @property
    def device(self) -> str:
        return name_device(self.desk.network.device)

    def __call__(self, gallery: Gallery, queue: Queue) -> Iterator[Answer]:
        pace = Pace(str(self.desk.network.device), self.desk.task.timeout, self.most)
        while queue:
            items = queue.take(pace.size)
            places = [item.place for item in items]
            start = time.perf_counter()
            images, labels = gallery.images[places], gallery.labels[places]
            verdicts = self.desk(*items[0].threat, images, labels)
            pace.note(len(items), time.perf_counter() - start)
            yield items, verdicts
