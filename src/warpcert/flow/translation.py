"""translation_bound: a small gamma is nearly a translation."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.shapes import Float
from warpcert.flow.minimum import lowest
from warpcert.flow.region import Region


def translation_bound(
    images: Float[Tensor, "B C _ _"],
    region: Region,
    rows: Float[Tensor, "B R C h w"],
    gamma: float,
) -> Float[Tensor, "B R"]:
    """Lower bounds of <row, bent image> by comparison with one translation, in float64.

    The images have ceil(delta) pixels more on each side than the rows, and one region for all.
    Sound: let r be any pixel, v its displacement and v + d_i that of pixel i, so each component
    of d_i is at most gamma |i - r|_1. Both ends of the way from v to v + d_i are in the region,
    which is convex; on it the pixel's combined value g_i changes at most by its largest |slope|
    in x and in y times those components, and never by more than its range. So the sum of
    g_i(v + d_i) is at least that of g_i(v) less these changes, and the sum of g_i(v) is bilinear
    on every cell: one pixel of a small image of sums, whose minimum `lowest` finds. All roundings
    are taken off. Exact for gamma = 0.
    """
    images, rows = (x.detach().to(torch.float64) for x in (images, rows))
    reach = math.ceil(region.delta)
    height, width = rows.shape[-2:]
    sums, slopes, ranges = _sweep(images, rows, reach, region.delta - (reach - 1))
    middle, _ = lowest(sums, region)
    away = _far(height, slopes.sum(-1))[..., None] + _far(width, slopes.sum(-2))[..., None, :]
    change = torch.minimum(gamma * slopes * away, ranges).sum((2, 3))
    largest = images.abs().amax((1, 2, 3))[:, None]
    asked = rows.abs().sum((2, 3, 4))
    relative = rounding.support(region.norm, region.delta, rows.shape[2], height * width)
    way = gamma * (height + width)
    slack = rounding.translation(relative, way) * largest * asked
    slack += rounding.faint(asked, region.delta + way)
    return middle[..., reach, reach] - change - slack


def _sweep(
    images: Tensor, rows: Tensor, reach: int, rest: float
) -> tuple[Float[Tensor, "B R n n"], Float[Tensor, "B R h w"], Float[Tensor, "B R h w"]]:
    """Sums of the combined pixels at all offsets; every pixel's steepest slopes and its range.

    On a cell the slope in x is affine in y, so it is steepest at the grid's points and where the
    region ends, ``rest`` beyond the last line but one; likewise in y. The range is that of the
    values where grid lines and ends cross.
    """
    height, width = rows.shape[-2:]
    offsets = range(2 * reach + 1)
    around = torch.stack(
        [
            torch.stack(
                [_combine(images[..., y : y + height, x : x + width], rows) for x in offsets]
            )
            for y in offsets
        ]
    )
    ended = _end(around, 0, rest)
    across = ended.diff(dim=1).abs().amax((0, 1))
    along = _end(around, 1, rest).diff(dim=0).abs().amax((0, 1))
    corners = _end(ended, 1, rest)
    return (
        around.sum((4, 5)).permute(2, 3, 0, 1),
        across + along,
        corners.amax((0, 1)) - corners.amin((0, 1)),
    )


def _combine(x: Tensor, rows: Tensor) -> Float[Tensor, "B R h w"]:
    """Sum over the channels, weighted by the rows."""
    return (rows * x[:, None]).sum(2)


def _end(around: Tensor, axis: int, rest: float) -> Tensor:
    """Move the first and the last line along an axis in to where the region ends."""
    lines = list(around.unbind(axis))
    ends = torch.lerp(lines[1], lines[0], rest), torch.lerp(lines[-2], lines[-1], rest)
    return torch.stack([ends[0], *lines[1:-1], ends[1]], dim=axis)


def _far(length: int, weights: Float[Tensor, "B R n"]) -> Float[Tensor, "B R n"]:
    """Distances from the weighted median, which makes their weighted sum least."""
    places = torch.arange(length, device=weights.device, dtype=weights.dtype)
    total = weights.cumsum(-1)
    median = (total < total[..., -1:] / 2).sum(-1, keepdim=True)
    return (places - median).abs()
