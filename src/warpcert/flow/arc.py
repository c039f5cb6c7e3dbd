"""The lowest point of a bilinear function on an arc inside one quadrant (norm 2).

On the circle of radius delta, with b = B delta, c = C delta, d = D delta**2 and
phi = theta - pi/4 in [-pi/4, pi/4], the function is

    f = A + b cos(theta) + c sin(theta) + d cos(theta) sin(theta)
      = A + p cos(phi) + q sin(phi) + d/2 cos(2 phi),    p, q = (b + c, c - b) / sqrt(2).

In z = tan(phi / 2) its first two derivatives have the signs of two polynomials, and nothing is ever
divided by d. Why no minimum is lost: f'' = -sin(theta) cos(theta) (k + 4 d) with
k = b / sin(theta) + c / cos(theta), and k is monotone on either side of tan(theta)**3 = b / c (on
the whole quadrant when b and c differ in sign). So on each of the two pieces f'' changes sign at
most once, f' is a bump (up, then down) or a dip (down, then up), and it is known which. A minimum
inside is a crossing of f' from - to +: on a bump it lies before the peak, on a dip after the
bottom, where f' rises, so bisection finds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from warpcert.core.rounding import BISECTIONS, NEARBY, sign_noise
from warpcert.core.shapes import Bool, Float

CACHED = 1 << 16
"""Arcs treated at once on a CPU, so that they stay in its cache."""

HALVINGS, NEWTON_STEPS = 5, 4
"""What brings most searches to full precision; the rest is halved further."""


def lowest_on_arc(
    b: Float[Tensor, " n"],
    c: Float[Tensor, " n"],
    d: Float[Tensor, " n"],
    start: Float[Tensor, "#n"],
    end: Float[Tensor, "#n"],
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Return (cos, sin) of theta for the lowest point inside each arc, ends left out.

    ``start`` and ``end`` are the ends in z (see `half_angle`). The point returned is always on
    the arc; where f has no minimum inside, it is just some point of it.
    """
    start, end = start.expand_as(b), end.expand_as(b)
    size = max(1, b.numel()) if b.is_cuda else CACHED
    parts = zip(*(x.split(size) for x in (b, c, d, start, end)), strict=True)
    points, sure = (torch.cat(x) for x in zip(*(_newton(*part) for part in parts), strict=True))
    index = (~sure).nonzero().squeeze(1)
    if index.numel():
        points[index] = _piecewise(*(x[index] for x in (b, c, d, start, end)))
    return _direction(points)


def may_dip(b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    """Where f can have a minimum inside the quadrant at all, by two cheap tests.

    With r = cos + sin in [1, sqrt(2)], f' = cos (c + d r) - sin (b + d r): where those two
    factors have opposite signs at both ends of r, f is monotone. And -f'' =
    cos (b + 2 d sin) + sin (c + 2 d cos): where b and c are at least max(0, -2 d), f is concave.
    """
    near, far = d, math.sqrt(2) * d
    reach = torch.minimum(near, far), torch.maximum(near, far)
    rising = (c >= -reach[0]) & (b <= -reach[1])
    falling = (c <= -reach[1]) & (b >= -reach[0])
    concave = torch.minimum(b, c) >= (-2 * d).clamp(min=0)
    return ~(rising | falling | concave)


def _newton(
    b: Tensor, c: Tensor, d: Tensor, start: Tensor, end: Tensor
) -> tuple[Tensor, Bool[Tensor, " n"]]:
    """A point in z, and whether it is sure to be the lowest.

    Let f' go from - to + over the arc. If d <= 0, it has a single zero. Both b, c < 0: f is
    convex. Both > 0: a dip and then a bump, of which the one from - can only cross upwards, and
    the other, once f' is +, cannot cross any more, since it ends at +. Opposite signs: one dip
    from -, or one bump to +, which cross once. If d > 0 and p <= -2 d, too: f' = -cos(phi) h with
    h = p tan + 2 d sin - q, and h' = (p + 2 d cos**3) / cos**2 <= 0. A point z with f' clearly
    negative just before it and positive just after is then within that distance of the zero,
    see `rounding.NEARBY`.
    """
    arc = _Arc.of(b, c, d)
    first, last = arc.slope(start), arc.slope(end)
    single = (first < 0) & (last > 0) & ((d <= 0) | (arc.p <= -2 * d))
    z = torch.addcmul(start, end - start, first / (first - last))  # on the chord of f'
    for _ in range(NEWTON_STEPS):
        z = torch.clamp(z - arc.slope(z) / arc.slope_change(z), start, end)
    before, after = z - NEARBY, z + NEARBY
    single &= (arc.slope(before) < -arc.noise) | (before <= start)
    single &= (arc.slope(after) > arc.noise) | (after >= end)
    return z, single


def _piecewise(b: Tensor, c: Tensor, d: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """The best of the two pieces' minima and the point between them.

    A third root in single precision is near enough: a split that is off by e leaves a sliver in
    which f'' is of the order of e**2 and f' changes by e**3.
    """
    larger = torch.maximum(b.abs(), c.abs())
    roots = ((x.abs() / larger).float().pow(1 / 3).double() for x in (c, b))
    split = half_angle(*roots).nan_to_num(0.0).clamp(start, end)
    arc = _Arc.of(b, c, d)
    best, lowest = split, arc.value(split)
    ends = torch.stack([start, split, end])
    slope, bend = arc.slope(ends), arc.curvature(ends)
    for piece, bump in enumerate((b < 0, c > 0)):
        shape = slope[piece : piece + 2], bend[piece : piece + 2]
        z = _crossing(arc, ends[piece], ends[piece + 1], bump, *shape)
        value = arc.value(z)
        best = torch.where(value < lowest, z, best)
        lowest = torch.minimum(value, lowest)
    return best


def half_angle(v: Tensor, w: Tensor) -> Tensor:
    """Z = tan(phi / 2) of the direction (v, w), both >= 0."""
    return (w - v) / (math.sqrt(2) * torch.hypot(v, w) + v + w)


def _direction(z: Tensor) -> tuple[Tensor, Tensor]:
    """(cos, sin) of theta = phi + pi/4."""
    scale = math.sqrt(0.5) / (1 + z * z)
    along, across = (1 - z * z) * scale, 2 * z * scale
    return (along - across).clamp(min=0), (along + across).clamp(min=0)


class _Arc:
    """f on many arcs: its value, and polynomials with the signs of its derivatives."""

    def __init__(self, p: Tensor, q: Tensor, d: Tensor) -> None:
        self.p, self.q, self.d = p, q, d
        self.noise = sign_noise(p, q, d)
        self.first = -2 * p - 4 * d, 4 * d - 2 * p

    @classmethod
    def of(cls, b: Tensor, c: Tensor, d: Tensor) -> _Arc:
        """From coefficients of cos, sin and cos sin of theta."""
        return cls((b + c) * math.sqrt(0.5), (c - b) * math.sqrt(0.5), d)

    def __getitem__(self, index: Tensor) -> _Arc:
        """Some of the arcs."""
        return _Arc(self.p[index], self.q[index], self.d[index])

    def value(self, z: Tensor) -> Tensor:
        """F without its constant."""
        cos, sin = (1 - z * z) / (1 + z * z), 2 * z / (1 + z * z)
        return self.p * cos + self.q * sin + self.d * (0.5 - sin * sin)

    def slope(self, z: Tensor) -> Tensor:
        """f' times (1 + z**2)**2 = q - (2p + 4d) z + (4d - 2p) z**3 - q z**4."""
        linear, cubic = self.first
        high = torch.addcmul(cubic, self.q, z, value=-1)
        return torch.addcmul(self.q, z, torch.addcmul(linear, z * z, high))

    def slope_change(self, z: Tensor) -> Tensor:
        """The derivative of `slope` by z."""
        linear, cubic = self.first
        high = torch.addcmul(3 * cubic, z, self.q, value=-4)
        return torch.addcmul(linear, z * z, high)

    def curvature(self, z: Tensor) -> Tensor:
        """f'' times (1 + z**2)**2 = -(p + 2d) - 2q z + 12d z**2 - 2q z**3 + (p - 2d) z**4."""
        odd = -2 * self.q
        high = torch.addcmul(12 * self.d, z, torch.addcmul(odd, z, self.p - 2 * self.d))
        return torch.addcmul(-self.p - 2 * self.d, z, torch.addcmul(odd, z, high))


def _crossing(
    arc: _Arc,
    low: Tensor,
    high: Tensor,
    bump: Bool[Tensor, " n"],
    slope: Float[Tensor, "2 n"],
    bend: Float[Tensor, "2 n"],
) -> Tensor:
    """Where f' crosses from - to + on a piece; some point of the piece where it does not.

    ``slope`` and ``bend`` are f' and f'' at its ends. A slope within the noise of zero is treated
    so that an error changes f by less than noise times length: the crossing is then searched
    for only where f' rises.
    """
    noise = arc.noise
    clear = torch.where(
        bump, (slope[0] < 0) & (slope[1] > noise), (slope[0] < -noise) & (slope[1] > 0)
    )
    hidden = torch.where(
        bump,
        (slope[0] < 0) & (slope[1] <= noise) & (bend[0] >= -noise) & (bend[1] <= noise),
        (slope[0] >= -noise) & (slope[1] > 0) & (bend[0] <= noise) & (bend[1] >= -noise),
    )
    index = hidden.nonzero().squeeze(1)
    if index.numel():
        some, up = arc[index], bump[index]
        sign = torch.where(up, -1.0, 1.0).to(low)
        first, last = low[index], high[index]
        turn, _ = _bisect(lambda z: sign * some.curvature(z), first, last, BISECTIONS)
        height = some.slope(turn)
        low = low.index_copy(0, index, torch.where(up, first, turn))
        high = high.index_copy(0, index, torch.where(up, turn, last))
        clear = clear.index_copy(0, index, torch.where(up, height > 0, height < 0))
    index = clear.nonzero().squeeze(1)
    return low.index_copy(0, index, _root(arc[index], low[index], high[index]))


def _root(arc: _Arc, low: Tensor, high: Tensor) -> Tensor:
    """Where f' changes sign between two points: a few halvings, then Newton's method, checked.

    Where f'' is positive at both ends of a bracket, f is convex in between (f'' changes sign at
    most once), so f(z) exceeds the minimum by at most |f'(z)| times the bracket's width: if that
    is within the noise, z is as good as the minimiser. Elsewhere halving goes on to the end.
    """
    low, width = _bisect(arc.slope, low, high, HALVINGS)
    high = low + width
    z = 0.5 * (low + high)
    for _ in range(NEWTON_STEPS):
        z = torch.clamp(z - arc.slope(z) / arc.slope_change(z), low, high)
    convex = torch.minimum(arc.curvature(low), arc.curvature(high)) > arc.noise
    sure = convex & (2 * arc.slope(z).abs() * width <= arc.noise)
    index = (~sure).nonzero().squeeze(1)
    if index.numel():
        low, width = _bisect(arc[index].slope, low[index], high[index], BISECTIONS)
        z = z.index_copy(0, index, torch.add(low, width, alpha=0.5))
    return z


def _bisect(
    function: Callable[[Tensor], Tensor], low: Tensor, high: Tensor, halvings: int
) -> tuple[Tensor, Tensor]:
    """Start and width of a bracket in which a function goes from - to +."""
    width = high - low
    for _ in range(halvings):
        width = 0.5 * width
        middle = low + width
        low = torch.where(function(middle) < 0, middle, low)
    return low, width
