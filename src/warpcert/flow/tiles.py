"""Work that is done pixel by pixel, in parts that fit into memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from warpcert.core.memory import chunk_size
from warpcert.core.shapes import Float
from warpcert.flow.region import Region


def in_tiles(
    work: Callable[[Tensor, Region], Tensor],
    images: Float[Tensor, "B C H W"],
    region: Region,
    pixel_bytes: int,
) -> Float[Tensor, "B C H W *rest"]:
    """Apply ``work`` to tiles (n, 1, h, W) of the images' channels and join what it returns.

    ``work`` must treat each channel's pixels separately and look no further than the region
    reaches. A tile is cut with that many rows more on either side, whose results are dropped:
    so every pixel kept sees what it would see in the whole image. ``pixel_bytes`` is what
    ``work`` needs for one pixel; ``region`` is one for all images.
    """
    batch, channels, height, width = images.shape
    planes = images.reshape(-1, 1, height, width)
    low, high = region.window(1, height)
    pixels = chunk_size(pixel_bytes, images.device)
    if pixels >= height * width:
        parts = planes.split(pixels // (height * width))
        done = torch.cat([work(part, region) for part in parts])
    else:
        rows = max(1, pixels // width - (high - low))
        strips = [slice(top, min(top + rows, height)) for top in range(0, height, rows)]
        done = torch.cat(
            [
                torch.cat([_strip(work, plane, region, strip) for strip in strips], dim=2)
                for plane in planes.split(1)
            ]
        )
    return done.reshape(batch, channels, *done.shape[2:])


def _strip(
    work: Callable[[Tensor, Region], Tensor], plane: Tensor, region: Region, strip: slice
) -> Tensor:
    """Apply the work to some rows of an image."""
    height = plane.shape[2]
    low, high = region.window(1, height)
    around = slice(max(0, strip.start + low), min(height, strip.stop + high))
    if not region.uniform:
        region = replace(region, lower=region.lower[around], upper=region.upper[around])
    done = work(plane[:, :, around], region)
    return done[:, :, strip.start - around.start : strip.stop - around.start]
