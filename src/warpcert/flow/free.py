"""free_bound: the minimum of <row, bent image> when pixels move independently."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.shapes import Float
from warpcert.flow.minimum import lowest
from warpcert.flow.region import Region


def free_bound(
    images: Float[Tensor, "B C _ _"],
    region: Region,
    rows: Float[Tensor, "B R C h w"],
    halo: int = 0,
    track: bool = False,
) -> tuple[Float[Tensor, "B R"], Float[Tensor, "B R h w 2"] | None]:
    """Lower bounds of <row, bent image> without coupling, in float64, and where they are reached.

    Sound for every gamma, because it drops the coupling between pixels, which only adds fields;
    each pixel's channels move together, and its least contribution is found up to a rounding
    that is taken off. Exact up to that rounding where pixels are free. See `lowest` for ``halo``.
    """
    images, rows = (x.detach().to(torch.float64) for x in (images, rows))
    if not halo:
        region = region.shrunk_to(images.shape[2], images.shape[3])
    value, where = lowest(images, region, rows=rows, track=track, halo=halo)
    largest = images.abs().amax((1, 2, 3))[:, None]
    relative = rounding.support(
        region.norm, region.delta, rows.shape[2], rows.shape[3] * rows.shape[4]
    )
    asked = rows.abs().sum((2, 3, 4))
    slack = relative * largest * asked + rounding.faint(asked, region.delta)
    return value.sum((2, 3)) - slack, where
