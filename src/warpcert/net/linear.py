"""Linear: a matrix applied along the last axis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch.nn.functional as F
from torch import Tensor

from warpcert.core.shapes import Float
from warpcert.net.affine import Shape
from warpcert.net.single import Single


@dataclass(frozen=True, eq=False)
class Linear(Single):
    """A matrix (out, in) applied along the last axis of an input (..., in)."""

    weight: Float[Tensor, "out in"]
    bias: Float[Tensor, "out"] | None
    input: Shape

    def __post_init__(self) -> None:
        """Refuse a matrix that does not fit."""
        if not self.input or self.input[-1] != self.weight.shape[1]:
            weight = tuple(self.weight.shape)
            raise ValueError(f"a matrix {weight} does not fit the last axis of {self.input}")

    @property
    def shape(self) -> Shape:
        return (*self.input[:-1], self.weight.shape[0])

    @property
    def offset(self) -> Tensor | None:
        return self.bias

    @property
    def fan_in(self) -> int:
        return self.weight.shape[1]

    @property
    def fan_out(self) -> int:
        return self.weight.shape[0]

    def linear(self, *inputs: Tensor) -> Tensor:
        (x,) = inputs
        return F.linear(x, self.weight)

    def spread(self, *radii: Tensor) -> Tensor:
        (r,) = radii
        return F.linear(r, self._magnitude)

    def adjoint(self, rows: Tensor) -> tuple[Tensor, ...]:
        return (rows @ self.weight,)

    @cached_property
    def _magnitude(self) -> Tensor:
        return self.weight.abs()
