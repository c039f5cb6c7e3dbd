"""Log: the natural logarithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from warpcert.net.activation import Activation


@dataclass(frozen=True)
class Log(Activation):
    """log x. Below lies the chord, above the tangent at the middle.

    On an interval with negative numbers f is NaN somewhere, so nothing is known; at 0 it is
    -inf, so nothing is known below.
    """

    noise: ClassVar[int] = 16

    def __call__(self, x: Tensor) -> Tensor:
        return torch.log(x)

    def slopes(self, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        return self.chord(lower, upper), 2 / (lower + upper)

    def turning(self, slope: Tensor) -> tuple[Tensor, ...]:
        return (torch.where(slope > 0, 1 / slope, torch.inf),)
