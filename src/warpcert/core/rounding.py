"""Every tolerance of the package, each with its argument.

Decisive numbers are computed in float64 with the unit roundoff ``u = UNIT``; one rounded
operation errs by at most ``u`` times its result. The bounds below count operations generously:
they cost some 1e-14 of the pixel range and buy a claim about exact real arithmetic.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

UNIT = 2.0**-53
"""Unit roundoff of float64."""

TINY = 2.0**-1022
"""What one product can lose to underflow, also where a machine takes such results for zero."""

FAINT = 2.0**-960
"""More than any sum of products loses to underflow, for sums of up to 2**60 terms, also when it
is then multiplied by UNIT. Too small to be seen beside any number that matters."""

TRACE = 2.0**-1000
"""A weight too small to matter, but not zero: it changes no sum of pixels by more than FAINT."""

SINGLE_TRACE = 1e-30
"""The same in float32, for searches."""

NOTHING = 1e-30
"""Added to weights and divisors of heuristics that may all be zero. Nothing depends on it."""

FLAT = 1e-8
"""Gradients much smaller than this move nothing in a search that divides by their size."""

SLIGHT = 1e-6
"""The least weight of a pixel, in terms of the largest, when a cut is chosen."""

FINEST = 2.0**-20
"""Boxes narrower than this, in units of delta, are not cut any more: their margin is then too close
to zero to be told from it. A cell that is given up is open, so nothing depends on it."""

LEVEL = 2.0**-40
"""A cell whose margin is bounded by so little below zero, in terms of the scores, is not cut any
more: most likely it is zero somewhere. It stays open, so nothing depends on it, either."""

TIE = 1e-9
"""How unequal, relative to their sum, the two sides of an interval around zero must be for DeepPoly
to prefer one line below a ReLU. Soundness does not depend on it: any slope gives a valid line."""

BISECTIONS = 27
"""Halvings of a bracket on an arc.

A bracket starts narrower than 1 in z = tan(phi / 2) and ends narrower than 2**-27, that is
1.5e-8 in the angle phi. At a stationary point the first derivative vanishes, so the value at the
bracket's middle is off by at most (1.5e-8 / 2)**2 / 2 < u times the largest second derivative.
"""

NEARBY = 2.0**-26
"""How near, in z = tan(phi / 2), a point must be to the zero of f' to pass for the minimum of f.

That is 2**-25 in the angle at most, so f is off by at most 2**-51 times its largest second
derivative, |p| + |q| + 2 |d|: less than a tenth of `sign_noise`."""

PLANE_STEP = 1e-9
"""How far, in units of the region's size, the point at which a plane is optimised is moved to
break ties. The plane is optimal there, hence within this times the spread of slopes of the
optimum at the centroid itself. Soundness does not depend on it."""

PLANE_GAP = 1e-11
"""Violations smaller than this, in units of the values' range, end the search for a plane.
Soundness does not depend on it: the constant is computed afterwards."""


WITNESS = 2.0**-22
"""By how much, relative to delta, a field is moved inwards before it is stored in float32."""


def membership(delta: float) -> float:
    """How far a field may exceed ``delta`` and ``gamma`` and still count as a member.

    Testing a norm or a difference of two float64 numbers of size delta takes at most four
    rounded operations, so a true member may seem to be outside by 4 u delta; as much again is
    allowed to whoever made the field. A field accepted by the test thus becomes a member when
    it is multiplied by a factor above 1 - 1e-15 (delta) and moved by 1e-15 delta (gamma).
    """
    return 8 * UNIT * delta


def storable(delta: float, gamma: float, dtype: torch.dtype) -> tuple[float, float]:
    """A smaller delta and gamma, so that a field within them is a member once it is stored.

    In float32 each number moves by 2**-24 delta at most, a difference of two by 2**-23 delta.
    """
    if dtype != torch.float32:
        return delta, gamma
    return delta * (1 - WITNESS), max(0.0, gamma - WITNESS * delta)


def smoothable(delta: float, gamma: float, steps: int) -> float:
    """A smaller gamma to aim at, so that a field smoothed in float64 is within gamma.

    Smoothing subtracts and adds gamma times up to ``steps`` to numbers of size delta: each
    difference is off by less than 8 u (delta + steps gamma).
    """
    if gamma == math.inf:
        return gamma
    return max(0.0, gamma * (1 - 8 * steps * UNIT) - 8 * UNIT * delta)


def confined(delta: float, dtype: torch.dtype) -> float:
    """By how much a field may leave the boxes of a region that it is said to keep to.

    Boxes are float64 numbers, to which float32 comes no nearer than 2**-24 of delta; a field that
    is brought into the threat afterwards moves by as much as `storable` takes off. Regions guide
    searches and cover threats; a witness is one for the threat, so nothing depends on it.
    """
    return 4 * (WITNESS if dtype == torch.float32 else 8 * UNIT) * delta


def sign_noise(p: Tensor, q: Tensor, d: Tensor) -> Tensor:
    """Bound of the rounding in the derivatives of p cos + q sin + d/2 cos 2phi on an arc.

    Both derivatives are polynomials in z, |z| < 1/2, with at most ten rounded operations on
    terms bounded by 4 (|p| + |q| + |d|): within 40 u of that sum; the coefficients come with
    some twenty operations more.
    """
    return 64 * UNIT * (p.abs() + q.abs() + d.abs())


def geometry(norm: float, delta: float) -> float:
    """Bound, relative to the largest |pixel|, of the rounding in a minimum over a region.

    Let m bound the pixels. A value is U + b s + c t + d s t with |b|, |c| <= 2 m, |d| <= 4 m and
    0 <= s, t <= 1, or the same as nested interpolations: fewer than 16 operations on terms
    below 9 m, so 72 u m are exceeded by no evaluation; s and t err by at most 4 u (1 + delta),
    which moves the value by less than 24 u (1 + delta) m. On a diagonal (norm 1) the parabola
    has coefficients below 12 m, each off by a few roundings, less than 64 u m together with those
    of its vertex; its minimum is off by no more than the parabola itself. On an arc (norm 2) the
    derivative is known up to `sign_noise`, with |p| + |q| + |d| <= (8 delta + 20 delta**2) m:
    where a sign is decided wrongly, the value changes by less than that noise times the arc's
    length, at most pi / 2.
    """
    base = 128 + 24 * delta
    if norm == 1:
        base += 64
    if norm == 2:
        base += 64 * 2 * (8 * delta + 20 * delta * delta)
    return base * UNIT


def summation(terms: int) -> float:
    """Bound, relative to the sum of magnitudes, of summing products in any order.

    The classical (n + 1) u for n products and n - 1 additions, doubled to cover second order.
    """
    return 2 * (terms + 1) * UNIT


def support(norm: float, delta: float, channels: int, pixels: int) -> float:
    """Bound of the rounding in a sum of pixels' minima, relative to the size of what is summed.

    That size is, over all pixels, the largest |pixel| times the row's |weights|, plus (1 + delta)
    times the slope's magnitudes: cells' corners are within 1 + delta of the pixel, so this bounds
    the objective there, as `geometry` needs it. Combining the channels and adding up the pixels
    are sums of products; four more operations join the sum with what is taken off it.
    """
    return geometry(norm, delta) + summation(channels + pixels + 4)


def adjoint(delta: float) -> float:
    """Bound, relative to the sum of |duals|, of what rounding in the slopes D^T mu can change.

    A slope adds up to four duals with three roundings, each of at most u times the sum of the
    four magnitudes: within 4 u of it. Every dual enters two slopes, and a slope is multiplied by
    a displacement of at most delta.
    """
    return 8 * UNIT * delta


def translation(relative: float, way: float) -> float:
    """Bound of the rounding when a translation is compared with fields that go ``way`` off it.

    Relative to the largest |pixel| times the row's |weights|, like `support`, which is given. A
    pixel's combined value, at a grid point or moved in to an end, is off by less than half of
    that share, its slopes by twice and its range by once as much; slopes are multiplied by at
    most ``way``, and rounding the products and sums costs eight shares of ``way`` more at most.
    """
    return relative * (4 + 16 * way)


def faint(asked: Tensor, way: float) -> Tensor:
    """What underflow can take from minima over regions, where anything is ``asked``.

    A pixel's objective, its coefficients and points are found with fewer than 2**10 products for
    each channel, and what one of them loses, TINY, is multiplied by less than (1 + way)**2 when no
    displacement or distance that enters is longer than ``way``. So FAINT (1 + way)**2 is more than
    2**50 of them lose together. Where nothing is asked, all products are zero, and exact.
    """
    return (asked > 0).to(asked) * (FAINT * (1 + way) ** 2)


CHECKED = 1e-10
"""What a second, simple check of a proof takes off every sum, relative to the size of its terms,
instead of counting operations: more than 1e5 roundings of float64 in a row."""

TOUCH = 2.0**-40
"""How far beyond the ball, relative to delta, a box may begin and still count as touching it.

The norm of a float64 pair is off by 4 u of itself at most, so that no box that meets the ball is
further away by this test; one that is nearer is widened by as much, which only adds fields."""


def further(way: Tensor) -> Tensor:
    """A product of two numbers >= 0, rounded up: it is off by u of itself, or by underflow."""
    return torch.where(way > 0, way * (1 + 4 * UNIT) + TINY, way)


def less(x: Tensor) -> Tensor:
    """The next float64 below x: a rounded sum or difference is not above the exact one."""
    return torch.nextafter(x, torch.full_like(x, -math.inf))


def more(x: Tensor) -> Tensor:
    """The next float64 above x: a rounded sum or difference is not below the exact one."""
    return torch.nextafter(x, torch.full_like(x, math.inf))


SOLVED = 1e-6
"""How good duals must be, in units of the sum of all variations of values, for a search to stop.
Soundness depends on none of these three: what duals prove is evaluated by itself."""

SLIGHT = 1e-6
"""Least capacity of an edge in that search, in units of the largest displacement: with none there
is no interior to search in."""

STIFF = 1e-12
"""Least response of a displacement to its slope there, in units of the response of its points:
so that a matrix can be factored whose pixels are stuck."""

LARGEST_DUAL = 2.0**400
"""Duals beyond this are not evaluated: no sum or product of smaller ones overflows."""


def down(x: Tensor, dtype: torch.dtype) -> Tensor:
    """The largest number of ``dtype`` that is not above x (or its neighbour); NaN gives -inf.

    Conversion rounds to nearest; where that went up, the next smaller number is below x.
    """
    y = x.to(dtype)
    y = torch.where(y.to(x.dtype) > x, torch.nextafter(y, torch.full_like(y, -math.inf)), y)
    return torch.where(torch.isnan(y), -math.inf, y)


def up(x: Tensor, dtype: torch.dtype) -> Tensor:
    """The smallest number of ``dtype`` that is not below x; NaN gives inf."""
    return -down(-x, dtype)


def affine(terms: int) -> float:
    """Bound, relative to |W| |x| + |b|, of the rounding in bounds of W x + b on an interval.

    Centre and radius are each off by 2 u |x|; W c + b and |W| r, sums of at most n + 1 terms,
    by (n + 2) u of their size each, which is at most that of |W| |x| + |b|; two more additions
    make the ends. That is less than (2 n + 14) u, and the rest covers second order. Underflow
    comes on top, see FAINT.
    """
    return 4 * (terms + 4) * UNIT


def backward(terms: int, steps: int) -> float:
    """Bound, relative to the sum of |a| times sizes over all steps, of back-substitution.

    At a step the rows W^T a are sums of at most n products, off by (n + 1) u |W|^T |a|, which
    <., z> turns into (n + 1) u |a| |W| |z|; at an activation they are products, off by u |a| |s z|.
    The constants <a, b> and <a, intercept> are sums of n products as well, of terms below
    |a| |b|, where s b + intercept has been rounded twice before. Rows that meet are added, off
    by u |a| |z|. Constants of all the steps are added up, off by u for each of them. So the
    whole is within (n + 6 + 4 steps) u of the sum; twice that covers second order and the
    rounding of the sum itself. Underflow comes on top: FAINT in every size, and `underflow`.
    """
    return 2 * (terms + 8 + 4 * steps) * UNIT


def underflow(terms: int) -> float:
    """Bound, relative to the sum of all |z|, of what underflow takes from back-substitution.

    An entry of W^T a is a sum of at most n products, each of which can lose TINY, whatever a is;
    <., z> multiplies that by |z|. Twice that covers the constants and the error's own.
    """
    return 2 * (terms + 8) * TINY


TRACED = 2.0**-30
"""How far, relative to the size of its terms, a member's values computed in float64 may seem to
break a row of a program that holds for the exact ones. Rounding stays far below it."""

REDUCED = 1e-9
"""How far a reduced cost may have the wrong sign in a linear program's solution. What a bound from
duals loses grows with it; soundness does not depend on it."""

WORTH = 1e-4
"""What a face of a hull must cut off, and a round of them gain, to be worth the trouble."""

CORNER = 2.0**-36
"""How far, relative to the octagon's size, a point may seem to be outside of it and still count as
its corner, or be apart from another and still be the same. Soundness does not depend on it."""

FEASIBLE = 1e-7
"""How far a solver of programs with integers may leave a row: what is asked of all of them."""

BELIEVED = 10.0
"""How many times a solver's tolerance its word must be above zero to count.

An optimum moves by at most the sum of |duals| times the tolerance, to first order, when every row
moves by as much. This is the one number here that proves nothing: verdicts say where it is used."""

WIDENED = 2.0**-20
"""By how much, relative to 1 + |end|, intervals are widened before a solver with tolerances sees
them: ten times those. Wider intervals are as true as narrower ones."""


def realised(x: Tensor) -> Tensor:
    """Bound of the rounding in the values of bent images x (B, C, H, W), computed in float64.

    A fraction between grid lines is a difference of numbers of which one is whole, off by u; a
    value is three interpolations a + s (b - a), two of them one after the other: less than 10 u
    times the largest |pixel| in all, which for images is 1.
    """
    return 16 * UNIT * x.abs().amax((1, 2, 3), keepdim=True).clamp(min=1.0)


CLEAR = 2.0**-10
"""How far below zero a margin should be before a search stops. Nothing depends on it: what is
found is tested afterwards."""

STILL = 2.0**-16
"""Slopes much smaller than this move nothing in a search that divides by their size: they may be
rounding alone. Nothing depends on it."""

SINGLE = 2.0**-24 / UNIT
"""How many times larger than in float64 rounding is in float32."""


def searched(width: Tensor) -> Tensor:
    """How far a margin searched in float32 may be from the exact one.

    ``width`` is that of an enclosure of the exact one made of float64's rounding alone. Such
    enclosures grow in proportion to the roundoff, so SINGLE times the width covers float32's, of
    which products summed in blocks are part; four times that covers the warp in float32 as well.
    """
    return 4 * SINGLE * width
