"""Cell: a part of the field, and what is known of one image on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from warpcert.bound import Bounds
from warpcert.core.interval import Interval
from warpcert.core.shapes import Float

Layers = Mapping[int, Interval]
"""What is known of the inputs of activations, by value, for one image."""


@dataclass(frozen=True, eq=False)
class Cell:
    """Boxes (H, W, 2) that the pixels' displacements are in, and proved bounds there.

    ``margins`` (S,) and ``layers`` hold on the cell. ``level``: how many cuts made it.
    ``loose`` is the worst margin by back-substitution over free pixels, from which the worth of
    further cuts is estimated. ``number`` is its place in a `Proof`. ``order``: cuts by what they
    brought in the cell that it was cut from, best first, see `Trial`.
    """

    lower: Float[Tensor, "H W 2"]
    upper: Float[Tensor, "H W 2"]
    layers: Layers
    margins: Float[Tensor, " S"]
    level: int = 0
    loose: float = -torch.inf
    number: int = 0
    order: Tensor | None = None

    @property
    def centre(self) -> Float[Tensor, "H W 2"]:
        """The displacements in the middle."""
        return self.lower / 2 + self.upper / 2

    @property
    def worst(self) -> float:
        """The least margin proved."""
        return float(self.margins.min())

    @property
    def proved(self) -> bool:
        """Whether every margin is."""
        return bool((self.margins > 0).all())


def stack(cells: Sequence[Cell]) -> Bounds:
    """What is known on several cells, as one batch."""
    layers = {
        value: Interval(
            torch.cat([cell.layers[value].lower for cell in cells]),
            torch.cat([cell.layers[value].upper for cell in cells]),
        )
        for value in cells[0].layers
    }
    return Bounds(layers, torch.stack([cell.margins for cell in cells]))


def layers_of(bounds: Bounds, number: int) -> dict[int, Interval]:
    """What bounds say of one image of their batch."""
    part = slice(number, number + 1)
    return {k: Interval(x.lower[part], x.upper[part]) for k, x in bounds.layers.items()}


def meet(cell: Cell, other: Cell) -> Cell:
    """A cell with what is known of one that holds it: two true intervals hold what both do."""
    layers = dict(cell.layers)
    for value, theirs in other.layers.items():
        mine = layers[value]
        lower = torch.maximum(mine.lower, theirs.lower)
        layers[value] = Interval(lower, torch.minimum(mine.upper, theirs.upper))
    margins = torch.maximum(cell.margins, other.margins)
    return replace(cell, layers=layers, margins=margins, loose=max(cell.loose, other.loose))
