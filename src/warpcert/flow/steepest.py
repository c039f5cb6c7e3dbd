"""steepest: a member of a threat far along given slopes; translations: the plainest members."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from warpcert.core.shapes import Float

if TYPE_CHECKING:
    from warpcert.flow.threat import Threat


def steepest(threat: Threat, slopes: Float[Tensor, "B H W 2"]) -> Float[Tensor, "B H W 2"]:
    """Fields v at which <slopes, v> is low: the lowest for gamma = inf.

    For a finite gamma the lowest among fields M w that are means of others, w: rows of M are
    means over windows so wide that from one to the next they change by gamma / delta at most. With
    every w(i, j) in the ball, M w is in the threat, and <slopes, M w> = <M^T slopes, w> is least
    where w is opposite to M^T slopes at every pixel. Up to rounding in the dtype of the slopes.
    """
    across, down = (
        _means(threat, length).to(slopes) for length in (slopes.shape[2], slopes.shape[1])
    )
    coarse = torch.einsum("bhwd,hi,wj->bijd", slopes, down, across)
    fields = torch.einsum("bijd,hi,wj->bhwd", _opposite(threat, coarse), down, across)
    if threat.border == "clamp":
        return fields
    region = threat.region((slopes.shape[1], slopes.shape[2]))
    return torch.clamp(fields, region.lower.to(fields), region.upper.to(fields))


def translations(threat: Threat, n: int) -> Float[Tensor, "m 2"]:
    """A grid of displacements in the ball: none, and m - 1 < n / 2 others."""
    side = math.isqrt(n // 2)
    side -= side % 2 == 0
    if side < 3:
        return torch.zeros((min(n, 1), 2), dtype=torch.float64)
    steps = torch.linspace(-1, 1, side, dtype=torch.float64)
    grid = torch.cartesian_prod(steps, steps)
    size = torch.linalg.vector_norm(grid, ord=float(threat.norm), dim=1, keepdim=True)
    most = grid.abs().amax(1, keepdim=True)
    grid = threat.delta * grid * torch.where(size > 0, most / size, 1.0)  # squares to balls
    return grid[grid.abs().amax(1).argsort(stable=True)]


def _means(threat: Threat, length: int) -> Float[Tensor, "{length} {length}"]:
    """The mean over windows around every entry of an axis; what hangs over counts as the end.

    A window of 2 r + 1 entries loses one and gains one at a step: the mean changes by at most
    2 delta / (2 r + 1).
    """
    if threat.gamma >= 2 * threat.delta:
        return torch.eye(length, dtype=torch.float64)
    here = torch.arange(length, dtype=torch.float64)
    if threat.gamma == 0:
        return torch.full((length, length), 1 / length, dtype=torch.float64)
    radius = math.ceil(threat.delta / threat.gamma - 0.5)
    first, last = here - radius, here + radius
    inside = (here >= first[:, None]) & (here <= last[:, None])
    weights = inside.to(torch.float64)
    weights[:, 0] += (-first).clamp(min=0)
    weights[:, -1] += (last - length + 1).clamp(min=0)
    return weights / weights.sum(1, keepdim=True)


def _opposite(threat: Threat, slopes: Tensor) -> Tensor:
    """The displacement of the ball at which <slope, v> is least, pixel by pixel."""
    if threat.norm == math.inf:
        return -threat.delta * slopes.sign()
    if threat.norm == 2:
        return -threat.delta * F.normalize(slopes, dim=-1)
    size = slopes.abs()
    longer = torch.stack([size[..., 0] >= size[..., 1], size[..., 0] < size[..., 1]], dim=-1)
    return -threat.delta * slopes.sign() * longer
