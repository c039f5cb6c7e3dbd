"""Sigmoid: the logistic function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from warpcert.net.sshape import SShape, logistic_bump


@dataclass(frozen=True)
class Sigmoid(SShape):
    """1 / (1 + exp(-x))."""

    steepest: ClassVar[float] = 0.25
    reach: ClassVar[float] = 1.0

    def __call__(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x)

    def derivative(self, x: Tensor) -> Tensor:
        return logistic_bump(x)
