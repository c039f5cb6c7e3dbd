"""SShape: what sigmoid and tanh have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from warpcert.net.activation import Activation

HALVINGS = 45
"""Steps of the search for a tangent. Only tightness depends on it: `band` makes any slope sound."""


class SShape(Activation):
    """An increasing function, convex below 0 and concave above, symmetric about its value at 0.

    ``steepest`` is the slope at 0. Slope s occurs at x and -x, where
    x = reach * (2 log(1 + r) - log(s / steepest)) and r = sqrt(1 - s / steepest).
    """

    noise: ClassVar[int] = 16
    steepest: ClassVar[float]
    reach: ClassVar[float]

    @abstractmethod
    def derivative(self, x: Tensor) -> Tensor:
        """f'(x)."""

    def slopes(self, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            return self._below(lower, upper), self._below(-upper, -lower)

    def turning(self, slope: Tensor) -> tuple[Tensor, ...]:
        share = (slope / self.steepest).clamp(0, 1)
        x = self.reach * (2 * torch.log1p(torch.sqrt(1 - share)) - torch.log(share))
        return x, -x

    def _below(self, lower: Tensor, upper: Tensor) -> Tensor:
        """The slope of the line below f that is highest at the interval's middle.

        Let d <= 0 be where the tangent through (upper, f(upper)) touches. Tangents at points
        left of d lie below f up to ``upper``; if d is left of ``lower``, the chord lies below f
        and is the highest line.
        """
        left = torch.clamp(lower, min=-80 * self.reach).clamp(max=0)
        right = torch.clamp(upper, max=0)
        middle = lower + (upper - lower) / 2
        goal = self(upper)
        start = left
        for _ in range(HALVINGS):
            d = (left + right) / 2
            fits = self(d) + self.derivative(d) * (upper - d) <= goal
            left, right = torch.where(fits, d, left), torch.where(fits, right, d)
        d = torch.where(upper <= 0, upper, left)
        flat = self.derivative(torch.minimum(middle, d))
        chord = self.chord(lower, upper).clamp(0, self.steepest)
        touches = self(start) + self.derivative(start) * (upper - start) >= goal
        return torch.where((upper > 0) & ((lower >= 0) | touches), chord, flat)


def logistic_bump(x: Tensor) -> Tensor:
    """The derivative of the logistic function, small where it is small: no cancellation."""
    return torch.sigmoid(x) * torch.sigmoid(-x)
