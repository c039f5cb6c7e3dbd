"""Hinge: two half-lines that meet at the origin."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from warpcert.net.activation import Activation


class Hinge(Activation):
    """A function with one slope left of zero and another right of it.

    Where it is convex, every line through the origin with a slope between the two lies below it.
    """

    @property
    @abstractmethod
    def sides(self) -> tuple[float, float]:
        """The slopes left and right of zero."""

    def bent(self, lower: Tensor, upper: Tensor) -> Tensor:
        return (lower < 0) & (upper > 0)

    def turning(self, slope: Tensor) -> tuple[Tensor, ...]:
        return (torch.zeros_like(slope),)
