"""The minimum of bilinear functions over arcs of a circle, enclosed by branch and bound.

Every point of the circle |(x, y)| = r lies on one of four *sides*: |x| <= r / sqrt 2 with y > 0 or
y < 0, or |y| <= r / sqrt 2 with x > 0 or x < 0. On a side the flat coordinate t = r tau describes
the point, the steep one is +- r sigma(tau) with sigma(tau) = sqrt(1 - tau^2) >= 1 / sqrt 2, and a
cell's function becomes

    g(tau) = a + beta tau + (kappa + d tau) sigma(tau),      |tau| <= 1 / sqrt 2.

*Where the arcs are* is decided without rounding. The ends of an arc inside a rectangle are square
roots of rationals in general, so an end is stored as its signed square sign(tau) tau^2, which is
rational and in the same order as tau. Empty arcs, arcs of one point and circles tangent to an edge
are told apart by comparing rationals.

*How low g is* is decided by branch and bound over intervals of tau with the bound

    g >= min(g(left), g(right)) - max(0, sup g'') h^2 / 8        on an interval of width h,

the remainder of linear interpolation. With sup g'' <= g''(middle) + (h / 2) sup |g'''| the bound
needs no root of any polynomial and no division by d: it holds, and tightens, for every choice of
coefficients. The derivatives of sigma are bounded on a side: |sigma'| <= 1, |sigma''| <= 2 sqrt 2,
|sigma'''| <= 12.

*Arithmetic* is in integers: T stands for T / 2^P, the square root is `math.isqrt`, and `Fixed`
collects all rounding.
"""

import heapq
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from .cells import Cell

TOLERANCE = Fraction(1, 10**16)
"""Width at which the enclosure is returned."""

_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Arc:
    """g(tau) = a + beta tau + (kappa + d tau) sigma(tau) for signed squares in [first, last]."""

    a: Fraction
    beta: Fraction
    kappa: Fraction
    d: Fraction
    first: Fraction
    last: Fraction

    def size(self) -> Fraction:
        """A bound on how fast g and its rounding can move."""
        return abs(self.beta) + abs(self.kappa) + abs(self.d)


def arcs(cell: Cell, radius: Fraction) -> Iterator[Arc]:
    """The arcs of the circle of this radius > 0 in the cell's closed rectangle."""
    x0, x1, y0, y1 = (end / radius for end in (cell.x0, cell.x1, cell.y0, cell.y1))
    b, c, d = cell.b * radius, cell.c * radius, cell.d * radius * radius
    sides = (
        (b, c, d, (x0, x1), (y0, y1)),
        (b, -c, -d, (x0, x1), (-y1, -y0)),
        (c, b, d, (y0, y1), (x0, x1)),
        (c, -b, -d, (y0, y1), (-x1, -x0)),
    )
    for beta, kappa, twist, flat, steep in sides:
        for first, last in _spans(flat, steep):
            yield Arc(cell.a, beta, kappa, twist, first, last)


def _spans(
    flat: tuple[Fraction, Fraction], steep: tuple[Fraction, Fraction]
) -> Iterator[tuple[Fraction, Fraction]]:
    """Signed squares of tau with tau in `flat`, sigma(tau) in `steep`, |tau| <= 1 / sqrt 2.

    For s >= 0: sigma <= s means tau^2 >= 1 - s^2, and sigma >= s means tau^2 <= 1 - s^2.
    """
    if steep[1] < 0:
        return
    reach = min(_HALF, 1 - max(steep[0], Fraction(0)) ** 2)
    low, high = max(_signed_square(flat[0]), -reach), min(_signed_square(flat[1]), reach)
    gap = 1 - steep[1] ** 2
    spans = [(low, high)] if gap <= 0 else [(low, min(high, -gap)), (max(low, gap), high)]
    for first, last in spans:
        if first <= last:
            yield first, last


def _signed_square(t: Fraction) -> Fraction:
    return t * abs(t)


class Fixed:
    """One arc in integers scaled by 2^P, with the rounding of every evaluation bounded.

    Let u = 2^-P. The coefficients are rounded down by less than u each, sigma by less than u, and
    the two shifts lose less than u each; an end of the arc is moved outward by less than u, which
    moves g by at most (|beta| + 1.1 |kappa| + 1.5 |d|) u. Together with the products of two errors
    the value at an integer T differs from g at the point it stands for by less than
    (16 + 4 (|beta| + |kappa| + |d|)) u, which is `slack`.
    """

    def __init__(self, arc: Arc, bits: int) -> None:
        one = 1 << bits
        self.bits = bits
        self.a = math.floor(arc.a * one)
        self.beta = math.floor(arc.beta * one)
        self.kappa = math.floor(arc.kappa * one)
        self.d = math.floor(arc.d * one)
        self.slack = slack(arc)
        self.left = _root_below(arc.first, bits)
        self.right = -_root_below(-arc.last, bits)
        # sup |g'''| <= 3 |d| |sigma''| + (|kappa| + |d tau|) |sigma'''| <= 12 |kappa| + 17 |d|
        self.jerk = 13 * abs(self.kappa) + 18 * abs(self.d) + 64

    def sigma(self, t: int) -> int:
        """sqrt(1 - tau^2), rounded down."""
        return math.isqrt((1 << 2 * self.bits) - t * t)

    def g(self, t: int) -> int:
        """g, up to `slack`."""
        p, s = self.bits, self.sigma(t)
        return self.a + ((self.beta * t + (self.kappa + (self.d * t >> p)) * s) >> p)

    def bend(self, left: int, right: int) -> int:
        """At least sup g'' on [left, right]; g'' = -2 d tau / sigma - (kappa + d tau) / sigma^3.

        1 / sigma <= 1.5 comes out with an error below 4 u, its cube below 30 u, so that the sum is
        off by less than 64 (1 + |kappa| + |d|) u.
        """
        p, middle = self.bits, (left + right) // 2
        inverse = (1 << 2 * p) // self.sigma(middle)
        turn = 2 * (self.d * middle >> p) * inverse >> p
        fall = (self.kappa + (self.d * middle >> p)) * inverse * inverse * inverse >> 3 * p
        rounding = 64 * (1 + ((abs(self.kappa) + abs(self.d)) >> p) + 1)
        return -turn - fall + rounding + (self.jerk * (right - middle) >> p) + 1

    def floor(self, left: int, right: int, g_left: int, g_right: int) -> int:
        """At most g on [left, right]."""
        lower, bend = min(g_left, g_right) - self.slack, self.bend(left, right)
        width = right - left
        return lower if bend <= 0 else lower - (bend * width * width >> 2 * self.bits + 3) - 1


def slack(arc: Arc) -> int:
    """The rounding of one evaluation of the arc, in units of 2^-P (see `Fixed`)."""
    return 16 + math.ceil(4 * arc.size())


def _root_below(signed_square: Fraction, bits: int) -> int:
    """The greatest integer T with T / 2^bits <= tau, or one less."""
    scaled = math.floor(abs(signed_square) * (1 << 2 * bits))
    root = math.isqrt(scaled)
    return root if signed_square >= 0 else -root - 1


def arc_minimum(found: Iterable[Arc], best: Fraction | None) -> tuple[Fraction, Fraction]:
    """Enclose min(best, minimum of g over all the arcs); `best` None means no other candidate.

    low <= minimum <= high always holds: every arc is covered by the intervals in the heap, each
    with a lower bound of g on it, and every `high` is an upper bound of g at a point of an arc.
    The loop ends because the remainder of an interval falls like its width squared.
    """
    listed = list(found)
    if not listed:
        if best is None:
            raise ValueError("nothing to minimise")
        return best, best
    worst = max(slack(arc) for arc in listed)
    bits = 96 + worst.bit_length()
    one = 1 << bits
    tolerance = math.floor(TOLERANCE * one)
    high = None if best is None else math.ceil(best * one)
    heap: list[tuple[int, int, int, int, int, int]] = []
    fixed = [Fixed(arc, bits) for arc in listed]

    for k, curve in enumerate(fixed):
        g_left, g_right = curve.g(curve.left), curve.g(curve.right)
        reached = min(g_left, g_right) + curve.slack
        high = reached if high is None else min(high, reached)
        lower = curve.floor(curve.left, curve.right, g_left, g_right)
        heap.append((lower, k, curve.left, curve.right, g_left, g_right))
    heapq.heapify(heap)
    assert high is not None
    while heap[0][0] < high - tolerance:
        _, k, left, right, g_left, g_right = heapq.heappop(heap)
        curve, middle = fixed[k], (left + right) // 2
        g_middle = curve.g(middle)
        high = min(high, g_middle + curve.slack)
        for a, b, g_a, g_b in (
            (left, middle, g_left, g_middle),
            (middle, right, g_middle, g_right),
        ):
            heapq.heappush(heap, (curve.floor(a, b, g_a, g_b), k, a, b, g_a, g_b))
    low = Fraction(heap[0][0], one)
    top = Fraction(high, one)
    if best is not None:
        low, top = min(low, best), min(top, best)
    return min(low, top), top
