"""Float points of a displacement region, many of them on its boundary, none outside."""

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from .picture import Number
from .region import Box, Region, region

Point = tuple[float, float]
_STEPS = 40


def dense_samples(
    norm: float | str,
    delta: Number,
    n: int,
    rng: np.random.Generator,
    box: Box | None = None,
) -> npt.NDArray[np.float64]:
    """(n, 2) displacements (dx, dy) of the region, as floats.

    Up to half are special points (corners, axis crossings, integer grid points, and points where
    grid lines and box edges meet the ball's boundary); of the others about two in three lie on
    the boundary up to a few units in the last place. Membership is checked in exact arithmetic.
    ValueError when the region holds no float at all.
    """
    inner = _FloatRegion(region(norm, delta, box))
    special = sorted({p for p in map(inner.settle, _special(inner)) if p is not None})
    order = rng.permutation(len(special))[: max(n // 2, min(n, 1))]
    chosen = [special[k] for k in order]
    while len(chosen) < n:
        point = _on_ball(inner, rng) if rng.random() < 0.5 else _in_rectangle(inner, rng)
        chosen.append(inner.settle(point) or inner.anchor)
    return np.array(chosen, dtype=np.float64).reshape(n, 2)


class _FloatRegion:
    """A region whose rectangle has float ends; `anchor` is its point nearest to the origin.

    The anchor has the smallest |x| and the smallest |y| of the rectangle. So moving a coordinate
    of any point of the rectangle towards the anchor never leaves the rectangle and never increases
    the norm, and the region holds a float point exactly when the anchor is one.
    """

    def __init__(self, where: Region) -> None:
        self.where = where
        self.x0, self.x1 = _round_up(where.x0), _round_down(where.x1)
        self.y0, self.y1 = _round_up(where.y0), _round_down(where.y1)
        self.anchor = (min(max(0.0, self.x0), self.x1), min(max(0.0, self.y0), self.y1))
        if self.x0 > self.x1 or self.y0 > self.y1 or not where.contains(*self.anchor):
            raise ValueError("the region holds no point with float coordinates")

    def settle(self, point: Point) -> Point | None:
        """The point moved by units in the last place until it lies inside; None if it is far."""
        x = min(max(point[0], self.x0), self.x1)
        y = min(max(point[1], self.y0), self.y1)
        for _ in range(_STEPS):
            if self.where.contains(x, y):
                return x, y
            if (abs(x) >= abs(y) and x != self.anchor[0]) or y == self.anchor[1]:
                x = math.nextafter(x, self.anchor[0])
            else:
                y = math.nextafter(y, self.anchor[1])
        return None


def _special(inner: _FloatRegion) -> list[Point]:
    """Corners, axis crossings, grid points, and lines x = const, y = const meeting the ball."""
    columns = _lines(inner.x0, inner.x1)
    rows = _lines(inner.y0, inner.y1)
    points = [inner.anchor, *itertools.product(columns, rows)]
    for x in columns:
        height = _crossing(inner.where, x)
        points += [(x, height), (x, -height)]
    for y in rows:
        width = _crossing(inner.where, y)
        points += [(width, y), (-width, y)]
    reach = _round_down(inner.where.radius)
    for a, b in itertools.product((1, -1), (1, -1)):
        half = reach / 2 if inner.where.norm == 1 else reach * math.sqrt(0.5)
        points.append((a * half, b * half))
    return points


def _lines(low: float, high: float, most: int = 16) -> list[float]:
    """Both ends, zero, and the integers nearest to zero in between (at most 2 `most` + 1)."""
    integers = [float(t) for t in range(-most, most + 1) if low <= t <= high]
    return sorted({low, high, *integers})


def _crossing(where: Region, t: float) -> float:
    """The largest float s with (t, s) in the ball, up to one unit in the last place."""
    r, flat = where.radius, abs(Fraction(t))
    if where.norm == 1:
        return _round_down(max(r - flat, Fraction(0)))
    if where.norm == 2:
        return _root_down(max(r * r - flat * flat, Fraction(0)))
    return _round_down(r)


def _on_ball(inner: _FloatRegion, rng: np.random.Generator) -> Point:
    """A point of the ball's boundary, moved into the rectangle by clamping or by a crossing."""
    reach, angle = float(inner.where.radius), rng.uniform(0, 2 * math.pi)
    x, y = math.cos(angle), math.sin(angle)
    size = {1.0: abs(x) + abs(y), 2.0: math.hypot(x, y)}.get(inner.where.norm, max(abs(x), abs(y)))
    x, y = x / size * reach, y / size * reach
    if inner.x0 <= x <= inner.x1 and inner.y0 <= y <= inner.y1:
        return x, y
    if rng.random() < 0.5:
        x = rng.uniform(inner.x0, inner.x1)
        return x, math.copysign(_crossing(inner.where, x), y)
    y = rng.uniform(inner.y0, inner.y1)
    return math.copysign(_crossing(inner.where, y), x), y


def _in_rectangle(inner: _FloatRegion, rng: np.random.Generator) -> Point:
    """A point inside, or on an edge of the rectangle; shrunk towards the anchor when too far."""
    x = rng.uniform(inner.x0, inner.x1)
    y = rng.uniform(inner.y0, inner.y1)
    edge = rng.integers(8)
    x = (inner.x0, inner.x1)[edge] if edge < 2 else x
    y = (inner.y0, inner.y1)[edge - 2] if 2 <= edge < 4 else y
    for _ in range(_STEPS):
        if inner.where.contains(x, y):
            break
        share = rng.random()
        x = inner.anchor[0] + share * (x - inner.anchor[0])
        y = inner.anchor[1] + share * (y - inner.anchor[1])
        x, y = min(max(x, inner.x0), inner.x1), min(max(y, inner.y0), inner.y1)
    return x, y


def _round_down(number: Fraction) -> float:
    """The greatest float <= number."""
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)


def _round_up(number: Fraction) -> float:
    """The smallest float >= number."""
    return -_round_down(-number)


def _root_down(square: Fraction) -> float:
    """A float <= sqrt(square), within two units in the last place."""
    if square == 0:
        return 0.0
    shift = max(0, 120 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift % 2
    root = math.isqrt(math.floor(square * (1 << shift)))
    return _round_down(Fraction(root, 1 << shift // 2))
