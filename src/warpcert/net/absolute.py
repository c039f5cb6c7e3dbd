"""Abs: the magnitude."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.net.hinge import Hinge


@dataclass(frozen=True)
class Abs(Hinge):
    """|x|. Above lies the chord; below the branch that leaves the smaller area."""

    @property
    def sides(self) -> tuple[float, float]:
        return (-1.0, 1.0)

    def __call__(self, x: Tensor) -> Tensor:
        return x.abs()

    def slopes(self, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        branch = torch.where(upper > -lower, torch.ones_like(lower), -1.0)
        return branch, self.chord_across(lower, upper, branch)
