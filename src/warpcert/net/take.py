"""Take: chosen places along an axis."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.core.shapes import Int
from warpcert.net.affine import Shape
from warpcert.net.single import Single


@dataclass(frozen=True, eq=False)
class Take(Single):
    """The entries at ``index`` along an axis: slices, selections, flips and repetitions."""

    index: Int[Tensor, "n"]
    axis: int
    input: Shape

    def __post_init__(self) -> None:
        """Refuse an axis that is not there."""
        if not 0 <= self.axis < len(self.input):
            raise ValueError(f"there is no axis {self.axis} in an input {self.input}")

    @property
    def shape(self) -> Shape:
        return (*self.input[: self.axis], len(self.index), *self.input[self.axis + 1 :])

    @property
    def fan_in(self) -> int:
        return 1

    @property
    def fan_out(self) -> int:
        return max(1, int(torch.bincount(self.index, minlength=1).max()))

    def linear(self, *inputs: Tensor) -> Tensor:
        (x,) = inputs
        return x.index_select(1 + self.axis, self.index)

    def spread(self, *radii: Tensor) -> Tensor:
        return self.linear(*radii)

    def adjoint(self, rows: Tensor) -> tuple[Tensor, ...]:
        empty = rows.new_zeros(*rows.shape[:2], *self.input)
        return (empty.index_add(2 + self.axis, self.index, rows),)
