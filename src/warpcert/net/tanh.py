"""Tanh: the hyperbolic tangent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from warpcert.net.sshape import SShape, logistic_bump


@dataclass(frozen=True)
class Tanh(SShape):
    """tanh x."""

    steepest: ClassVar[float] = 1.0
    reach: ClassVar[float] = 0.5

    def __call__(self, x: Tensor) -> Tensor:
        return torch.tanh(x)

    def derivative(self, x: Tensor) -> Tensor:
        return 4 * logistic_bump(2 * x)
