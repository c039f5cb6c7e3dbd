r"""Cells: a region cut along the pixel grid, one convex piece for each interpolation cell.

A pixel sits on a grid point, so no cell crosses an axis: mirrored into the first quadrant, a cell
is [M, M + 1] x [N, N + 1], and its part of a region is a rectangle cut by the ball::

    w1 +--------Q.          Q = (X(w1), w1)     the outer curve from P to Q is
       |          \         P = (v1, Y(v1))     a point (norm inf), a diagonal (1), an arc (2)
       |           \
       |            P
    w0 +------------+       on the curve  ||(X(w), w)|| = ||(v, Y(v))|| = delta
       v0           v1

On it a channel is A + B v + C w + D v w. Along any axis-parallel line that is linear, so its
minimum lies at one of the five corners or on the outer curve.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from warpcert.flow.region import Region


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell's part of a region, mirrored into the first quadrant.

    ``column``, ``row``: the grid point (M, N) nearest to the pixel. ``across``, ``down``: the signs
    that mirror back, so that dx = across * v. ``v0, v1, w0, w1``: the rectangle; ``p``, ``q``: the
    ends of the outer curve. Coordinates are float64 tensors of shape () (all pixels alike) or
    (..., H, W); ``valid`` says where the part is not empty, ``curved`` where the curve has an
    interior.
    """

    column: int
    row: int
    across: int
    down: int
    v0: Tensor
    v1: Tensor
    w0: Tensor
    w1: Tensor
    p: tuple[Tensor, Tensor]
    q: tuple[Tensor, Tensor]
    valid: Tensor
    curved: Tensor

    @property
    def corners(self) -> list[tuple[Tensor, Tensor]]:
        """The five corners (v, w); all lie in the region where the cell is valid."""
        return [(self.v0, self.w0), (self.v1, self.w0), (self.v0, self.w1), self.p, self.q]

    @property
    def offsets(self) -> tuple[tuple[int, int], ...]:
        """Grid offsets (x, y) of the cell's corners: nearest, across, down, and both."""
        x0, y0 = self.across * self.column, self.down * self.row
        x1, y1 = x0 + self.across, y0 + self.down
        return (x0, y0), (x1, y0), (x0, y1), (x1, y1)


def cells(region: Region, height: int, width: int) -> Iterator[Cell]:
    """All cells that the region touches in an image of that size, those near the pixel first."""
    if region.uniform:  # the same few for every row that is ever asked
        ends = tuple(region.lower.tolist()), tuple(region.upper.tolist())
        yield from _shared(region.norm, region.delta, *ends, height, width)
    else:
        yield from _cells(region, height, width)


@lru_cache(maxsize=256)
def _shared(
    norm: float,
    delta: float,
    lower: tuple[float, float],
    upper: tuple[float, float],
    height: int,
    width: int,
) -> tuple[Cell, ...]:
    """The cells of a region that all pixels share."""
    ends = (torch.tensor(end, dtype=torch.float64) for end in (lower, upper))
    return tuple(_cells(Region(norm, delta, *ends), height, width))


def _cells(region: Region, height: int, width: int) -> Iterator[Cell]:
    """The same, made anew."""
    offsets = [(m, n) for n in region.reach(1, height) for m in region.reach(0, width)]
    offsets.sort(key=lambda offset: math.hypot(offset[0] + 0.5, offset[1] + 0.5))
    for m, n in offsets:
        across, column, v0, v1 = _mirrored(m, width, region.lower[..., 0], region.upper[..., 0])
        down, row, w0, w1 = _mirrored(n, height, region.lower[..., 1], region.upper[..., 1])
        valid = (v0 <= v1) & (w0 <= w1) & region.in_ball(v0, w0)
        if not bool(valid.any()):
            continue
        v1 = torch.minimum(v1, _along(region, w0))
        w1 = torch.minimum(w1, _along(region, v0))
        curved = valid & ~region.in_ball(v1, w1)
        p = (v1, torch.minimum(w1, _along(region, v1)).clamp(min=w0))
        q = (torch.minimum(v1, _along(region, w1)).clamp(min=v0), w1)
        yield Cell(column, row, across, down, v0, v1, w0, w1, p, q, valid, curved)


def _mirrored(
    offset: int, length: int, lower: Tensor, upper: Tensor
) -> tuple[int, int, Tensor, Tensor]:
    """Sign, nearest grid coordinate and ends of a cell cut by a box, mirrored to be positive.

    The outermost cells, offset -length and length - 1, reach to infinity: they begin where every
    pixel has left the image, so interpolation there is constant across.
    """
    sign, near = 1, offset
    if offset < 0:
        sign, near, lower, upper = -1, -offset - 1, -upper, -lower
    outermost = offset in (-length, length - 1)
    return sign, near, lower.clamp(min=near), upper if outermost else upper.clamp(max=near + 1)


def _along(region: Region, v: Tensor) -> Tensor:
    """The largest w with (v, w) in the ball; 0 where v alone is too long."""
    if region.norm == math.inf:
        return torch.full_like(v, region.delta)
    rest = (region.delta - v).clamp(min=0)
    return rest if region.norm == 1 else torch.sqrt(rest * (region.delta + v))
