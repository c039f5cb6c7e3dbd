"""Cell: a part of the field, and what is known of one image on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.bound import Bounds
from warpcert.core.interval import Interval
from warpcert.core.shapes import Float
from warpcert.verify.branch.bounded import Layers


@dataclass(frozen=True, eq=False)
class Cell:
    """Boxes (H, W, 2) that the pixels' displacements are in, and proved bounds there.

    ``margins`` (S,) hold on the cell, ``layers`` (of one image) as well. ``gain`` is what the cut
    that made the cell brought to its parent's worst margin, inf for the whole threat.
    """

    lower: Float[Tensor, "H W 2"]
    upper: Float[Tensor, "H W 2"]
    layers: Layers
    margins: Float[Tensor, " S"]
    level: int = 0
    gain: float = float("inf")

    @property
    def worst(self) -> float:
        """The least margin proved."""
        return float(self.margins.min())

    @property
    def whole(self) -> bool:
        """Whether nothing has been cut."""
        return self.level == 0


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
