"""dual_bound: what given duals prove about <row, bent image>."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.shapes import Float
from warpcert.flow.differences import adjoint, edges
from warpcert.flow.minimum import lowest
from warpcert.flow.region import Region


def dual_bound(
    images: Float[Tensor, "B C _ _"],
    region: Region,
    rows: Float[Tensor, "B R C h w"],
    gamma: float,
    duals: Float[Tensor, "B R 2 2 h w"],
    halo: int = 0,
) -> Float[Tensor, "B R"]:
    """Lower bounds of <row, bent image> over fields with |differences| <= gamma, in float64.

    Sound for any duals mu: a field v of the threat has |Dv| <= gamma, hence mu . Dv <=
    gamma ||mu||_1, and <row, image bent by v> >= sum_i [row_i x(i + v_i) + (D^T mu)_i . v_i] -
    gamma ||mu||_1; every term of the sum is at least its minimum over the pixel's region, and all
    roundings are taken off. Duals that are NaN, infinite or huge prove nothing: -inf.
    ``gamma`` must be finite; see `lowest` for ``halo``.
    """
    images, rows, duals = (x.detach().to(torch.float64) for x in (images, rows, duals))
    right, down = edges(duals)
    length = right.abs().sum((2, 3, 4)) + down.abs().sum((2, 3, 4))
    sane = length <= rounding.LARGEST_DUAL  # false for NaN
    slope = torch.where(sane[..., None, None, None], adjoint(duals), 0.0)
    value, _ = lowest(images, region, rows=rows, slope=slope.movedim(2, -1), halo=halo)
    pixels = rows[0, 0, 0].numel()
    cost = gamma * length * (1 + rounding.summation(4 * pixels + 2))
    largest = images.abs().amax((1, 2, 3))[:, None]
    asked = rows.abs().sum((2, 3, 4))
    size = largest * asked + (1 + region.delta) * slope.abs().sum((2, 3, 4)) + cost
    relative = rounding.support(region.norm, region.delta, rows.shape[2], pixels)
    slack = relative * size + rounding.adjoint(region.delta) * length
    slack += rounding.faint(asked + length, region.delta)
    bound = value.sum((2, 3)) - slack - cost
    return torch.where(sane & ~torch.isnan(bound), bound, -torch.inf)
