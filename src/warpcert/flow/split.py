"""Split: parts of a threat, each with the displacement of one pixel confined to a cell."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.shapes import Bool, Float, Int
from warpcert.flow.region import Region
from warpcert.flow.threat import Threat

MIDDLE = 0.25
"""A grid line is cut at when it leaves at least this share of an interval on either side."""


class Parts(NamedTuple):
    """Boxes (N, H, W, 2) of all pixels, and the part (N,) of the batch that each is from."""

    lower: Tensor
    upper: Tensor
    parents: Tensor

    def region(self, threat: Threat) -> Region:
        """As regions of N images."""
        norm = float(threat.norm)
        return Region(norm, threat.delta, self.lower[:, None], self.upper[:, None])


def whole(threat: Threat, shape: tuple[int, int], count: int = 1) -> Parts:
    """The threat itself, ``count`` times."""
    region = threat.region(shape)
    lower, upper = (x.expand(count, *shape, 2).clone() for x in (region.lower, region.upper))
    return Parts(lower, upper, torch.arange(count))


def split(
    threat: Threat,
    lower: Float[Tensor, "N H W 2"],
    upper: Float[Tensor, "N H W 2"],
    pixels: Int[Tensor, "N 2"],
    axes: Bool[Tensor, "N 2"],
) -> Parts:
    """Cut the displacement of a pixel (row, column) along one axis or both, for each of N parts.

    Every displacement of the pixel is in one of the cells, which share their edges, so that every
    field of a part is in one of those it is cut into; see `confine` for what the cells say about
    the other pixels. Parts that no field is in are left out. A pixel that cannot move along an axis
    is not cut there.
    """
    count = len(lower)
    which = torch.arange(count, device=lower.device)
    at = (which, pixels[:, 0], pixels[:, 1])
    low, high = lower[at], upper[at]
    cut = cutting_point(low, high)
    none = ~axes | ~((low < cut) & (cut < high))
    found = []
    for side_x, side_y in ((0, 0), (1, 0), (0, 1), (1, 1)):
        side = torch.tensor([side_x, side_y], device=lower.device, dtype=torch.bool)
        begin = torch.where(side & ~none, cut, low)
        end = torch.where(side | none, high, cut)
        fresh = ~(side & none).any(1)  # an axis that is not cut has one side only
        boxes = confine(threat, lower, upper, pixels, begin, end)
        keep = fresh & boxes.nonempty
        found.append(Parts(boxes.lower[keep], boxes.upper[keep], which[keep]))
    return Parts(*(torch.cat(parts) for parts in zip(*found, strict=True)))


def cutting_point(low: Tensor, high: Tensor) -> Tensor:
    """A grid line near the middle of an interval, where interpolation kinks, or the middle."""
    middle = low / 2 + high / 2
    line = torch.round(middle)
    share = MIDDLE * (high - low)
    good = (line - low >= share) & (high - line >= share)
    return torch.where(good, line, middle)


class Confined(NamedTuple):
    """Boxes (N, H, W, 2), and for which parts they hold a field at all (N,)."""

    lower: Tensor
    upper: Tensor
    nonempty: Tensor


def confine(
    threat: Threat,
    lower: Float[Tensor, "N H W 2"],
    upper: Float[Tensor, "N H W 2"],
    pixels: Int[Tensor, "N 2"],
    begin: Float[Tensor, "N 2"],
    end: Float[Tensor, "N 2"],
) -> Confined:
    """The boxes of all pixels when one of them moves by no less than begin and no more than end.

    Sound, because neighbours differ by gamma at most, hence pixels d steps apart by gamma d: each
    pixel's displacement lies within gamma d of the cell, and in its own box. Distances are
    rounded up and boxes outwards. A part is empty where a box is, or misses the ball by more
    than rounding; where it is nearly missed, the box is moved to touch it.
    """
    height, width = lower.shape[1:3]
    rows = torch.arange(height, device=lower.device)[None, :, None]
    columns = torch.arange(width, device=lower.device)[None, None, :]
    steps = (rows - pixels[:, :1, None]).abs() + (columns - pixels[:, 1:, None]).abs()
    way = torch.full(steps.shape, math.inf, dtype=lower.dtype, device=lower.device)
    if threat.gamma < math.inf:
        way = rounding.further(threat.gamma * steps.to(lower.dtype))
    way = torch.where(steps == 0, 0.0, way)[..., None]
    low = torch.maximum(lower, rounding.less(begin[:, None, None] - way))
    high = torch.minimum(upper, rounding.more(end[:, None, None] + way))
    here = (torch.arange(len(lower), device=lower.device), pixels[:, 0], pixels[:, 1])
    low[here] = torch.maximum(lower[here], begin)  # the cell itself is exact
    high[here] = torch.minimum(upper[here], end)
    filled = (low <= high).all(-1)
    nearest = torch.clamp(torch.zeros_like(low), low, high)
    size = torch.linalg.vector_norm(nearest, ord=float(threat.norm), dim=-1)
    near = size > threat.delta * (1 - rounding.TOUCH)
    missed = size > threat.delta * (1 + rounding.TOUCH)
    if bool((near & ~missed).any()):
        nudge = torch.where((near & ~missed)[..., None], nearest * (1 - 2 * rounding.TOUCH), 0.0)
        low = torch.where((nudge > 0) & (low > nudge), nudge, low)
        high = torch.where((nudge < 0) & (high < nudge), nudge, high)
    return Confined(low, high, (filled & ~missed).flatten(1).all(1))
