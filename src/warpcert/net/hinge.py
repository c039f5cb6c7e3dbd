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

    def chord_across(self, lower: Tensor, upper: Tensor, branch: Tensor) -> Tensor:
        """The slope of the chord where zero is inside; elsewhere that of the function itself.

        There the two are the same number, but on an interval of one point there is no chord.
        """
        return torch.where(self.bent(lower, upper), self.chord(lower, upper), branch)

    def turning(self, slope: Tensor) -> tuple[Tensor, ...]:
        return (torch.zeros_like(slope),)
