"""Relu: the positive part."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.net.hinge import Hinge


@dataclass(frozen=True)
class Relu(Hinge):
    """max(x, 0). Above lies the chord; below the line of slope 1 if upper > -lower, else 0.

    The rule of DeepPoly: of the two lines the one that leaves the smaller area, and 0 where they
    leave the same up to rounding. It is also right where the sign of x is known: both lines are
    then the function itself, without rounding.
    """

    @property
    def sides(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def __call__(self, x: Tensor) -> Tensor:
        return torch.relu(x)

    def slopes(self, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        one = (upper + lower > rounding.TIE * (upper - lower)).to(lower.dtype)
        return one, self.chord_across(lower, upper, one)
