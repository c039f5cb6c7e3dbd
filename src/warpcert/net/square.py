"""Square: a number times itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from warpcert.net.activation import Activation


@dataclass(frozen=True)
class Square(Activation):
    """x * x. Above lies the chord, below the tangent at the middle, which is parallel to it."""

    noise: ClassVar[int] = 1

    def __call__(self, x: Tensor) -> Tensor:
        return x * x

    def slopes(self, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        return lower + upper, lower + upper

    def turning(self, slope: Tensor) -> tuple[Tensor, ...]:
        return (slope / 2,)
