"""Bounds: what a bounder proved, and what it may hand on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from warpcert.core.interval import Interval
from warpcert.core.shapes import Float


@dataclass(frozen=True, eq=False)
class Bounds:
    """Intervals of every activation's input, and lower bounds of the margins.

    ``layers`` maps a value's number in the network to its Interval (B, ...); ``margins`` is
    (B, S). Both are proved for exact arithmetic. ``slopes`` (by activation) and ``duals`` of the
    margins are where a search stopped: a start for a similar problem, which is never trusted.
    """

    layers: Mapping[int, Interval]
    margins: Float[Tensor, "B S"]
    slopes: Mapping[int, Tensor] = field(default_factory=dict)
    duals: Tensor | None = None

    def select(self, images: Tensor) -> Bounds:
        """Those of some images, by number."""
        return Bounds(
            {k: Interval(x.lower[images], x.upper[images]) for k, x in self.layers.items()},
            self.margins[images],
            {k: slope[images] for k, slope in self.slopes.items()},
            None if self.duals is None else self.duals[images],
        )

    def __iter__(self) -> Iterator[Any]:
        """Unpack as ``layers, margins``."""
        return iter((self.layers, self.margins))


def best(margins: Tensor, warm: Bounds | None) -> Tensor:
    """The better of margins and those known before."""
    return margins if warm is None else torch.maximum(margins, warm.margins)
