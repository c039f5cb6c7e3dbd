"""Reshape: the same entries in other axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from warpcert.net.affine import Affine, Shape


@dataclass(frozen=True, eq=False)
class Reshape(Affine):
    """The entries of each image, in order, with another shape."""

    input: Shape
    output: Shape

    def __post_init__(self) -> None:
        """Refuse to lose or invent entries."""
        if math.prod(self.input) != math.prod(self.output):
            raise ValueError(f"shape {self.input} cannot become {self.output}: sizes differ")

    @property
    def inputs(self) -> tuple[Shape, ...]:
        return (self.input,)

    @property
    def shape(self) -> Shape:
        return self.output

    @property
    def fan_in(self) -> int:
        return 1

    @property
    def fan_out(self) -> int:
        return 1

    def linear(self, *inputs: Tensor) -> Tensor:
        (x,) = inputs
        return x.reshape(x.shape[0], *self.output)

    def spread(self, *radii: Tensor) -> Tensor:
        return self.linear(*radii)

    def adjoint(self, rows: Tensor) -> tuple[Tensor, ...]:
        return (rows.reshape(*rows.shape[:2], *self.input),)
