"""A second method for norm 2, kept only to check the first: stationary points as polynomial roots.

On the circle of radius r write w = exp(i theta). For f = A + B x + C y + D x y the derivative
along the circle, with b = B r, c = C r, e = D r^2, is

    -b sin theta + c cos theta + e cos 2 theta = 0,

and times 2 w^2 it is the polynomial  e w^4 + (c + i b) w^3 + (c - i b) w + e = 0. All roots are
found at 50 digits and projected onto the circle. A projected root that is no stationary point does
no harm, because every point of the circle inside the rectangle is a point of the region. Unlike the
branch and bound this is accurate, not proved.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath  # type: ignore[import-untyped,unused-ignore]

from .cells import Cell, cells
from .picture import Image, Number, check_pixel, exact, picture
from .region import Box, region

_DIGITS = 50
_MARGIN = mpmath.mpf(10) ** -40


def pixel_minimum_by_roots(
    image: Image,
    i: int,
    j: int,
    delta: Number,
    box: Box | None = None,
    slope: tuple[Number, Number] = (0, 0),
) -> Fraction:
    """The minimum for norm 2 to about 40 digits, without proof."""
    source, where = picture(image), region(2, delta, box)
    check_pixel(source, i, j)
    with mpmath.workdps(_DIGITS):
        r = _real(where.radius)
        met = cells(source, i, j, where, (exact(slope[0]), exact(slope[1])))
        least = min(value for cell in met for value in _candidates(cell, r))
        return Fraction(int(mpmath.floor(mpmath.ldexp(least, 200))), 2**200)


def _candidates(cell: Cell, r: Any) -> Iterator[Any]:
    x0, x1, y0, y1 = (_real(end) for end in (cell.x0, cell.x1, cell.y0, cell.y1))
    a, b, c, d = (_real(coefficient) for coefficient in (cell.a, cell.b, cell.c, cell.d))
    points = [(x, y) for x in (x0, x1) for y in (y0, y1) if x * x + y * y <= r * r + _MARGIN]
    points += [(sign * r, r * 0) for sign in (1, -1)] + [(r * 0, sign * r) for sign in (1, -1)]
    for x in (x0, x1):
        points += [(x, sign * _root(r * r - x * x)) for sign in (1, -1) if abs(x) <= r]
    for y in (y0, y1):
        points += [(sign * _root(r * r - y * y), y) for sign in (1, -1) if abs(y) <= r]
    points += [(r * w.real, r * w.imag) for w in _stationary(b * r, c * r, d * r * r)]
    for x, y in points:
        if x0 - _MARGIN <= x <= x1 + _MARGIN and y0 - _MARGIN <= y <= y1 + _MARGIN:
            yield a + b * x + c * y + d * x * y


def _stationary(b: Any, c: Any, e: Any) -> list[Any]:
    """Unit complex numbers among which all stationary points on the circle are."""
    size = max(abs(b), abs(c), abs(e))
    if size == 0:
        return []
    b, c, e = b / size, c / size, e / size
    if e == 0:
        turn = mpmath.sqrt(-mpmath.mpc(c, -b) / mpmath.mpc(c, b))
        return [turn, -turn]
    polynomial = [e, mpmath.mpc(c, b), 0, mpmath.mpc(c, -b), e]
    roots = mpmath.polyroots(polynomial, maxsteps=2000, extraprec=400)
    return [w / abs(w) for w in roots if w != 0]


def _real(number: Fraction) -> Any:
    return mpmath.mpf(number.numerator) / number.denominator


def _root(square: Any) -> Any:
    return mpmath.sqrt(max(square, 0))
