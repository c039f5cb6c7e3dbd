"""Activation: one of the two kinds of node, a function of one number applied entry by entry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.shapes import Float
from warpcert.net.band import Band, Line

UNDERFLOW = rounding.UNIT**19
"""Above every number that float64 may lose to underflow (2**-1022, and exp(-709.7) in a sigmoid
whose exponential overflows), and itself a normal number."""


LARGEST = torch.finfo(torch.float64).max
"""What overflowed is at least as large as this, but need not be infinite."""


class Activation(ABC):
    """A function f of one number.

    An implementation chooses slopes, well or badly, and knows where f - slope * x turns.
    Soundness is made in one place, `band`, for whatever slopes there are.
    """

    noise: ClassVar[int] = 0
    """Bound of the error of computing f(x) in float64, in units of UNIT * |f(x)|.

    0 where f is computed exactly; 16 for exp, log and tanh, which the libraries give to 2
    units in the last place (4 UNIT), and the few operations around them.
    """

    @abstractmethod
    def __call__(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """f(x)."""

    @abstractmethod
    def slopes(self, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        """Good slopes for the lines below and above f on [lower, upper], in float64."""

    @abstractmethod
    def turning(self, slope: Tensor) -> tuple[Tensor, ...]:
        """All x at which f - slope * x can be least or greatest, besides an interval's ends.

        In closed form. Where there is none, any number but NaN.
        """

    def bent(self, lower: Float[Tensor, "*shape"], upper: Float[Tensor, "*shape"]) -> Tensor:
        """Where f is not a straight line on [lower, upper]: there tighter ends are worth having."""
        return lower < upper

    def band(
        self,
        lower: Float[Tensor, "*shape"],
        upper: Float[Tensor, "*shape"],
        slope: Float[Tensor, "*shape"] | None = None,
    ) -> Band:
        """Lines around f on [lower, upper], in its dtype; ``slope`` is used below when given.

        Sound for any slope, because f - slope * x takes its minimum at an end or where it turns:
        the intercept is the least of these values, less their rounding, rounded down. Where
        the ends are infinite the lines are constant; where one is NaN, or f is, nothing is known.
        """
        low, high = lower.to(torch.float64), upper.to(torch.float64)
        below, above = self.slopes(low, high)
        if slope is not None:
            below = slope
        bounded = torch.isfinite(low) & torch.isfinite(high)
        lines = []
        for line in (below, above):
            kept = line.to(lower.dtype)
            lines.append(torch.where(bounded & torch.isfinite(kept), kept, 0.0))
        least, _ = self._extremes(low, high, lines[0].to(torch.float64))
        _, most = self._extremes(low, high, lines[1].to(torch.float64))
        return Band(
            Line(lines[0], _down(least, lower.dtype)), Line(lines[1], -_down(-most, lower.dtype))
        )

    def image(
        self, lower: Float[Tensor, "*shape"], upper: Float[Tensor, "*shape"]
    ) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
        """The range of f on [lower, upper]: the band whose lines have no slope."""
        low, high = lower.to(torch.float64), upper.to(torch.float64)
        least, most = self._extremes(low, high, torch.zeros_like(low))
        return _down(least, lower.dtype), -_down(-most, lower.dtype)

    def chord(self, lower: Tensor, upper: Tensor) -> Tensor:
        """The slope between an interval's ends; 0 where they are one."""
        width = upper - lower
        rise = self(upper) - self(lower)
        return torch.where(width > 0, rise / torch.where(width > 0, width, 1.0), 0.0)

    def _extremes(self, low: Tensor, high: Tensor, slope: Tensor) -> tuple[Tensor, Tensor]:
        """Bounds of f - slope * x over [low, high], NaN where not known.

        Rounding, at one point p: f errs by noise * UNIT * |f|, the product by UNIT * |slope * p|
        (not at all when the slope is 0 or +-1 or p is 0), the difference by UNIT of itself; all
        taken twice, for the rounding of these bounds. A turning point is computed with an error of
        a few UNIT * |p| (and UNIT for sigmoid and tanh); as f - slope * x is level there, its value
        is off by the square of that times |f''|, which is of the order of UNIT**2 * |f| or less.
        """
        points = [low, high]
        points += [torch.clamp(p.detach(), low, high) for p in self.turning(slope.detach())]
        least, most = [], []
        for p in points:
            line = torch.where(slope == 0, 0.0, slope * p)
            f = self(p)
            gap = f - line
            with torch.no_grad():
                exact = (slope == 0) | (slope.abs() == 1) | (p == 0)
                size = self.noise * f.abs() + torch.where(exact, 0.0, line.abs()) + gap.abs()
                lost = torch.full_like(gap, UNDERFLOW).where(~exact | (self.noise > 0), 0.0)
                error = torch.where(torch.isfinite(size), 2 * rounding.UNIT * size + lost, 0.0)
            least.append(gap - error)
            most.append(gap + error)
        return (
            torch.stack(least).amin(0).clamp(max=LARGEST),
            torch.stack(most).amax(0).clamp(min=-LARGEST),
        )


def _down(x: Tensor, dtype: torch.dtype) -> Tensor:
    """x rounded down to ``dtype``; the gradient is that of x."""
    rounded = rounding.down(x.detach(), dtype)
    if not x.requires_grad:
        return rounded
    kept = torch.isfinite(rounded)
    moved = x + torch.where(kept, rounded.to(x.dtype) - x.detach(), 0.0)
    return torch.where(kept, moved.to(dtype), rounded)
