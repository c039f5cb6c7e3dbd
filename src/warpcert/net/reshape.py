"""Reshape: the same entries in other axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from warpcert.net.affine import Shape
from warpcert.net.single import Alone


@dataclass(frozen=True, eq=False)
class Reshape(Alone):
    """The entries of each image, in order, with another shape."""

    input: Shape
    output: Shape

    def __post_init__(self) -> None:
        """Refuse to lose or invent entries."""
        if math.prod(self.input) != math.prod(self.output):
            raise ValueError(f"shape {self.input} cannot become {self.output}: sizes differ")

    @property
    def shape(self) -> Shape:
        return self.output

    def linear(self, *inputs: Tensor) -> Tensor:
        (x,) = inputs
        return x.reshape(x.shape[0], *self.output)

    def spread(self, *radii: Tensor) -> Tensor:
        return self.linear(*radii)

    def adjoint(self, rows: Tensor) -> tuple[Tensor, ...]:
        return (rows.reshape(*rows.shape[:2], *self.input),)
