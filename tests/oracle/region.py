"""Displacement regions: a norm ball of radius delta cut by a box, decided exactly."""

import math
from dataclasses import dataclass
from fractions import Fraction

from .picture import Number, exact

Box = tuple[Number, Number, Number, Number]
"""(lo_x, hi_x, lo_y, hi_y); an end may be infinite."""


@dataclass(frozen=True)
class Region:
    """{(x, y): ||(x, y)||_norm <= radius, x0 <= x <= x1, y0 <= y <= y1}, never empty.

    The rectangle is already cut with [-radius, radius]^2, so all its ends are finite.
    """

    norm: float
    radius: Fraction
    x0: Fraction
    x1: Fraction
    y0: Fraction
    y1: Fraction

    def in_ball(self, x: Fraction, y: Fraction) -> bool:
        """Whether (x, y) lies in the norm ball, without rounding."""
        if self.norm == 1:
            return abs(x) + abs(y) <= self.radius
        if self.norm == 2:
            return x * x + y * y <= self.radius * self.radius
        return max(abs(x), abs(y)) <= self.radius

    def contains(self, x: Number, y: Number) -> bool:
        """Whether (x, y) lies in the region, without rounding."""
        x, y = exact(x), exact(y)
        return self.x0 <= x <= self.x1 and self.y0 <= y <= self.y1 and self.in_ball(x, y)


def region(norm: float | str, delta: Number, box: Box | None = None) -> Region:
    """The region of a threat. ValueError when the arguments are wrong or the region is empty.

    The point of the rectangle with the smallest |x| and the smallest |y| has the smallest norm of
    all its points, for each of the three norms, so the region is empty exactly when that point
    lies outside the ball.
    """
    order = float(norm)
    if order not in (1.0, 2.0, math.inf):
        raise ValueError(f"norm is 1, 2 or inf, not {norm!r}")
    radius = exact(delta)
    if radius < 0:
        raise ValueError(f"delta is at least 0, not {delta!r}")
    everywhere: Box = (-math.inf, math.inf, -math.inf, math.inf)
    lo_x, hi_x, lo_y, hi_y = everywhere if box is None else box
    x0, x1 = _cut(lo_x, hi_x, radius)
    y0, y1 = _cut(lo_y, hi_y, radius)
    made = Region(order, radius, x0, x1, y0, y1)
    nearest = min(max(Fraction(0), x0), x1), min(max(Fraction(0), y0), y1)
    if x0 > x1 or y0 > y1 or not made.in_ball(*nearest):
        raise ValueError(f"no displacement has norm {norm} <= {delta} in the box {box}")
    return made


def _cut(low: Number, high: Number, radius: Fraction) -> tuple[Fraction, Fraction]:
    """[low, high] cut with [-radius, radius]; the ends may be infinite, never NaN."""
    if math.isnan(low) or math.isnan(high):
        raise ValueError("a box has no NaN ends")
    if low == math.inf or high == -math.inf:
        raise ValueError(f"no displacement lies between {low} and {high}")
    first = -radius if low == -math.inf else max(exact(low), -radius)
    last = radius if high == math.inf else min(exact(high), radius)
    return first, last
