"""pixel_bounds: the tightest interval around each pixel of the bent image."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, overload

import torch
import torch.nn.functional as nn
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.checks import check_images
from warpcert.core.interval import Interval
from warpcert.core.memory import chunk_size
from warpcert.core.shapes import Float
from warpcert.flow.minimum import WORKING_ARRAYS, lowest
from warpcert.flow.region import Region
from warpcert.flow.threat import Threat
from warpcert.flow.tiles import in_tiles


@overload
def pixel_bounds(
    images: Tensor, threat: Threat, *, return_displacements: Literal[False] = False
) -> Interval: ...
@overload
def pixel_bounds(
    images: Tensor, threat: Threat, *, return_displacements: Literal[True]
) -> tuple[Interval, Tensor, Tensor]: ...
def pixel_bounds(
    images: Tensor, threat: Threat, *, return_displacements: bool = False
) -> Interval | tuple[Interval, Tensor, Tensor]:
    """Bound every pixel and channel of the bent images: (B, C, H, W) -> an Interval like it.

    Sound, because `lowest` finds the minimum over every pixel's region up to its stated
    rounding, which is taken off, and no interpolated value lies below the lowest grid value
    around (so flat parts of an image keep an interval of width zero). Exact, because a pixel
    reaches its whole region in some field of the threat, for every gamma (see `Threat.region`).

    With ``return_displacements`` the displacements (B, C, H, W, 2), in float64, at which the
    lower and the upper end are reached come too.
    """
    check_images(images)
    height, width = images.shape[-2:]
    region = threat.region((height, width)).shrunk_to(height, width).to(images.device)

    def work(planes: Tensor, part: Region) -> Tensor:
        both = torch.cat([planes, -planes])
        value, where = _below(both, part, return_displacements)
        found = value[..., None] if where is None else torch.cat([value[..., None], where], dim=-1)
        return torch.stack(found.chunk(2), dim=-2)

    exact = images.detach().to(torch.float64)
    found = in_tiles(work, exact, region, 2 * 8 * WORKING_ARRAYS)  # for the image and its negative
    lower, upper = rounding.down(found[..., 0], images.dtype).unbind(-1)
    box = Interval(lower, -upper)
    if not return_displacements:
        return box
    at_lower, at_upper = found[..., 1:].unbind(-2)
    return box, at_lower, at_upper


def region_bounds(images: Float[Tensor, "B C H W"], region: Region) -> Interval:
    """The same over given regions, which may differ from image to image: (B, 1, H, W, 2).

    Sound and exact as `pixel_bounds` is, for displacements that are free within the regions.
    """
    if region.uniform or region.lower.shape[0] != images.shape[0]:
        raise ValueError(f"regions must be (B, 1, H, W, 2), got {tuple(region.lower.shape)}")
    size = chunk_size(2 * 8 * WORKING_ARRAYS * images[0].numel(), images.device)
    lower, upper = [], []
    for start in range(0, images.shape[0], size):
        part = slice(start, start + size)
        boxes = replace(region, lower=region.lower[part], upper=region.upper[part])
        exact = images[part].detach().to(torch.float64)
        lower.append(rounding.down(_below(exact, boxes, False)[0], images.dtype))
        upper.append(-rounding.down(_below(-exact, boxes, False)[0], images.dtype))
    return Interval(torch.cat(lower), torch.cat(upper))


def _below(x: Tensor, region: Region, track: bool) -> tuple[Tensor, Tensor | None]:
    """A sound lower bound of every pixel, and where it is reached."""
    value, where = lowest(x, region, track=track)
    slack = rounding.geometry(region.norm, region.delta) * x.abs().amax((1, 2, 3), keepdim=True)
    return torch.maximum(value - slack, _lowest_around(x, region)), where


def _lowest_around(x: Tensor, region: Region) -> Tensor:
    """The lowest grid value that a region can be interpolated from."""
    left, right = region.window(0, x.shape[-1])
    top, bottom = region.window(1, x.shape[-2])
    wide = nn.pad(-x, (-left, right, -top, bottom), mode="replicate")
    wide = nn.max_pool2d(wide, (1, right - left + 1), stride=1)
    return -nn.max_pool2d(wide, (bottom - top + 1, 1), stride=1)
