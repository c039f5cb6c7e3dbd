"""Selection: a part of a plan's problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from warpcert.run import Item, Shard

if TYPE_CHECKING:
    from warpcert.experiments.run import Run

WHOLE = Shard()


@final
@dataclass(frozen=True)
class Selection:
    """The first images, and some of the deltas, gammas, engines and networks; None takes all.

    What is selected belongs to the same tasks as the rest, so a larger selection goes on where a
    smaller one has ended.
    """

    images: int | None = None
    deltas: tuple[float, ...] | None = None
    gammas: tuple[float, ...] | None = None
    engines: tuple[str, ...] | None = None
    networks: tuple[str, ...] | None = None
    shard: Shard = WHOLE

    def takes(self, run: Run) -> bool:
        """Whether it has a part of a run."""
        return _has(self.engines, run.engine.name) and _has(self.networks, run.network)

    def select(self, items: Sequence[Item]) -> list[Item]:
        """Its part of a run's items."""
        return self.shard.select(
            [
                item
                for item in items
                if (self.images is None or item.place < self.images)
                and _has(self.deltas, item.delta)
                and _has(self.gammas, item.gamma)
            ]
        )


ALL = Selection()


def _has(chosen: tuple[object, ...] | None, value: object) -> bool:
    return chosen is None or value in chosen
