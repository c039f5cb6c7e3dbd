"""Item: one problem of a task. Shard: a share of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

Key = tuple[float, float, int]
"""What names a verdict within a task: delta, gamma, and the image's index."""


@final
@dataclass(frozen=True)
class Item:
    """An image, the ``place``-th of its gallery and ``index`` in its data set, and a threat."""

    delta: float
    gamma: float
    index: int
    place: int

    @property
    def threat(self) -> tuple[float, float]:
        """The threat's delta and gamma."""
        return self.delta, self.gamma

    @property
    def key(self) -> Key:
        """What names its verdict."""
        return self.delta, self.gamma, self.index


@final
@dataclass(frozen=True)
class Shard:
    """The ``number``-th (from 1) of ``count`` shares: together they are all items, each once."""

    number: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        """Refuse a share that is none."""
        if not 1 <= self.number <= self.count:
            raise ValueError(f"a shard is K/N with 1 <= K <= N, got {self}")

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def select(self, items: Sequence[Item]) -> list[Item]:
        """Every ``count``-th item."""
        return list(items[self.number - 1 :: self.count])
