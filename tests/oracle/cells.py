"""The interpolation cells that a region meets, each with its four exact coefficients.

Clamping cuts each axis of displacements into pieces: constant before the first pixel, linear
between neighbouring pixels, constant after the last. On a product of two pieces the value of the
pixel plus slope . (x, y) is A + B x + C y + D x y, with displacements (x, y) as coordinates. The
pieces outside the image stay, because there the slope still counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from .picture import Picture
from .region import Region

Basis = list[tuple[int, int, int]]
"""Index, constant and linear factor: the axis weight of that index is constant + linear * t."""


@dataclass(frozen=True)
class Cell:
    """The function a + b x + c y + d x y on the rectangle [x0, x1] x [y0, y1]."""

    x0: Fraction
    x1: Fraction
    y0: Fraction
    y1: Fraction
    a: Fraction
    b: Fraction
    c: Fraction
    d: Fraction

    def __call__(self, x: Fraction, y: Fraction) -> Fraction:
        """The function at (x, y), which may lie outside the rectangle."""
        return self.a + self.b * x + (self.c + self.d * x) * y

    def corners(self) -> list[tuple[Fraction, Fraction]]:
        """The four corners of the rectangle (repeated when it is thin)."""
        return [(x, y) for x in (self.x0, self.x1) for y in (self.y0, self.y1)]

    def floor(self) -> Fraction:
        """The minimum over the rectangle: on each axis-parallel line the function is affine."""
        return min(self(x, y) for x, y in self.corners())


def cells(
    source: Picture, i: int, j: int, where: Region, slope: tuple[Fraction, Fraction]
) -> Iterator[Cell]:
    """Cells of pixel (i, j), cut with the region's rectangle; together they cover it."""
    for x0, x1, columns in pieces(j, source.width, where.x0, where.x1):
        for y0, y1, rows in pieces(i, source.height, where.y0, where.y1):
            a, b, c, d = Fraction(0), slope[0], slope[1], Fraction(0)
            for row, row_constant, row_linear in rows:
                for column, column_constant, column_linear in columns:
                    pixel = source.at(row, column)
                    a += pixel * (row_constant * column_constant)
                    b += pixel * (row_constant * column_linear)
                    c += pixel * (row_linear * column_constant)
                    d += pixel * (row_linear * column_linear)
            yield Cell(x0, x1, y0, y1, a, b, c, d)


def pieces(
    position: int, size: int, low: Fraction, high: Fraction
) -> Iterator[tuple[Fraction, Fraction, Basis]]:
    """The pieces of one axis inside [low, high] for the pixel at `position` of `size` pixels.

    Displacement t reads the coordinate position + t clamped to [0, size - 1], so pieces meet at
    the integers -position .. size - 1 - position, and at no others.
    """
    first, last = -position, size - 1 - position
    breaks = range(max(first, _above(low)), min(last, _below(high)) + 1)
    ends = [low, *(Fraction(t) for t in breaks), high]
    for start, end in pairwise(ends):
        yield start, end, _basis(position, size, start + end)


def _basis(position: int, size: int, twice_middle: Fraction) -> Basis:
    """Axis weights on the piece whose middle is twice_middle / 2."""
    if twice_middle <= -2 * position:
        return [(0, 1, 0)]
    if twice_middle >= 2 * (size - 1 - position):
        return [(size - 1, 1, 0)]
    left = (2 * position + twice_middle) // 2
    offset = position - left
    return [(left, 1 - offset, -1), (left + 1, offset, 1)]


def _above(t: Fraction) -> int:
    """The smallest integer greater than t."""
    return t.__floor__() + 1


def _below(t: Fraction) -> int:
    """The greatest integer less than t."""
    return t.__ceil__() - 1
