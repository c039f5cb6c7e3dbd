"""Extrema of a displaced pixel over a region: exact for norms inf and 1, enclosed for norm 2.

Why the candidates are complete. On one cell the function f = A + B x + C y + D x y is harmonic
(f_xx = f_yy = 0), so its minimum over the compact convex set K = rectangle cut with ball lies on
the boundary of K, whatever the coefficients; if K has no interior, K is its own boundary. That
boundary consists of points of the rectangle's edges inside the ball and points of the ball's
boundary inside the rectangle. Along an edge of the rectangle f is affine and edge cut with ball is
a segment, so its minimum is at an end, which is a corner of the rectangle inside the ball or a
point of the ball's boundary. Hence

    min f over K = min(corners of the rectangle in the ball, ball's boundary in the rectangle),

and only the second part depends on the norm: nothing new for inf (the rectangle is already cut
with that ball), four segments for 1, arcs of a circle for 2.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy.typing as npt

from .arc import Arc, arc_minimum, arcs
from .cells import Cell, cells
from .picture import Image, Number, Picture, check_pixel, combined, exact, negated, picture
from .region import Box, Region, region

Enclosure = tuple[Fraction, Fraction]
"""(low, high) with low <= the true extremum <= high and high - low <= 1e-14."""

Slope = tuple[Number, Number]


def pixel_minimum(
    image: Image,
    i: int,
    j: int,
    norm: float | str,
    delta: Number,
    box: Box | None = None,
    slope: Slope = (0, 0),
) -> Enclosure:
    """Enclose the minimum of value(image, i, j, dx, dy) + slope . (dx, dy) over the region.

    `image` is (H, W), `box` is (lo_x, hi_x, lo_y, hi_y). For norms inf and 1 low == high is the
    exact minimum. ValueError for an empty region.
    """
    return _minimum(picture(image), i, j, region(norm, delta, box), slope)


def pixel_maximum(
    image: Image,
    i: int,
    j: int,
    norm: float | str,
    delta: Number,
    box: Box | None = None,
    slope: Slope = (0, 0),
) -> Enclosure:
    """Enclose the maximum of value(image, i, j, dx, dy) + slope . (dx, dy) over the region."""
    return _maximum(picture(image), i, j, region(norm, delta, box), slope)


def joint_minimum(
    images: Image,
    weights: Sequence[Number] | npt.NDArray[Any],
    i: int,
    j: int,
    norm: float | str,
    delta: Number,
    box: Box | None = None,
    slope: Slope = (0, 0),
) -> Enclosure:
    """`pixel_minimum` of the combined image sum_c weights[c] images[c]; images are (C, H, W).

    All channels move together and the warp is linear in the image, so the weighted sum of the
    displaced channels is the displaced weighted sum.
    """
    return _minimum(combined(images, weights), i, j, region(norm, delta, box), slope)


def joint_maximum(
    images: Image,
    weights: Sequence[Number] | npt.NDArray[Any],
    i: int,
    j: int,
    norm: float | str,
    delta: Number,
    box: Box | None = None,
    slope: Slope = (0, 0),
) -> Enclosure:
    """`pixel_maximum` of the combined image sum_c weights[c] images[c]; images are (C, H, W)."""
    return _maximum(combined(images, weights), i, j, region(norm, delta, box), slope)


def _maximum(source: Picture, i: int, j: int, where: Region, slope: Slope) -> Enclosure:
    """max f = -min(-f)."""
    low, high = _minimum(negated(source), i, j, where, (-slope[0], -slope[1]))
    return -high, -low


def _minimum(source: Picture, i: int, j: int, where: Region, slope: Slope) -> Enclosure:
    check_pixel(source, i, j)
    met = list(cells(source, i, j, where, (exact(slope[0]), exact(slope[1]))))
    best = min(_straight_candidates(met, where), default=None)
    if where.norm != 2 or where.radius == 0:
        if best is None:
            raise AssertionError("a region that is not empty has a candidate")
        return best, best
    return arc_minimum(_useful_arcs(met, where.radius, best), best)


def _straight_candidates(met: list[Cell], where: Region) -> Iterator[Fraction]:
    """Values at corners in the ball and, for norm 1, minima along the ball's four edges."""
    for cell in met:
        for x, y in cell.corners():
            if where.in_ball(x, y):
                yield cell(x, y)
        if where.norm == 1:
            for right in (1, -1):
                for down in (1, -1):
                    yield from _diagonal(cell, where.radius, right, down)


def _diagonal(cell: Cell, radius: Fraction, right: int, down: int) -> Iterator[Fraction]:
    """The minimum over {(right u, down (radius - u)): 0 <= u <= radius} inside the rectangle.

    Along it the function is a quadratic in u; it is evaluated at both ends of the admissible
    range and at its stationary point, when there is one in the range.
    """
    (x_low, x_high), (y_low, y_high) = (
        sorted((right * cell.x0, right * cell.x1)),
        sorted((down * cell.y0, down * cell.y1)),
    )
    first = max(Fraction(0), x_low, radius - y_high)
    last = min(radius, x_high, radius - y_low)
    if first > last:
        return
    tried = [first, last]
    square = -cell.d * right * down
    linear = cell.b * right - cell.c * down + cell.d * right * down * radius
    if square != 0:
        vertex = -linear / (2 * square)
        if first <= vertex <= last:
            tried.append(vertex)
    yield min(cell(right * u, down * (radius - u)) for u in tried)


def _useful_arcs(met: list[Cell], radius: Fraction, best: Fraction | None) -> Iterator[Arc]:
    """Arcs of the cells that could still go below `best`."""
    for cell in met:
        if best is None or cell.floor() < best:
            yield from arcs(cell, radius)
