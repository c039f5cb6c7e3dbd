"""Decider: who makes the verdicts of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from warpcert.core.verdict import Verdict
from warpcert.run.gallery import Gallery
from warpcert.run.item import Item
from warpcert.run.queue import Queue

Answer = tuple[Sequence[Item], Sequence[Verdict]]


class Decider(ABC):
    """Turns the items of a queue into verdicts, in whatever order they are done."""

    @property
    @abstractmethod
    def device(self) -> str:
        """What the verdicts are computed on, in words."""

    @abstractmethod
    def __call__(self, gallery: Gallery, queue: Queue) -> Iterator[Answer]:
        """Yield items with their verdicts until the queue is empty, each item once."""
