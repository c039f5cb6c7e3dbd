"""Bring a field into a threat."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from warpcert.core.rounding import UNIT, smoothable, storable
from warpcert.core.shapes import Float

if TYPE_CHECKING:
    from warpcert.flow.threat import Threat

ROUNDS = 12
"""Turns of smoothing and shortening for norms 1 and 2, where one undoes a little of the other."""


def project(threat: Threat, fields: Float[Tensor, "B H W 2"]) -> Float[Tensor, "B H W 2"]:
    """Return members near the fields; members unchanged; NaN becomes 0.

    For norm inf the result is the nearest member in the maximum norm: smoothing moves a pixel by
    at most half the worst excess over gamma, which is necessary, and clamping a smooth field
    between smooth ends moves no pixel further than it was outside. For norms 1 and 2 both
    steps take turns, and what is left over is scaled away towards the zero field, a member.
    """
    inside = threat.contains(fields)
    if bool(inside.all()):
        return fields
    delta, gamma = storable(threat.delta, threat.gamma, fields.dtype)
    limit = replace(threat, delta=delta, gamma=gamma)
    gamma = smoothable(delta, gamma, fields.shape[1] + fields.shape[2])
    target = replace(limit, gamma=gamma)
    far = math.sqrt(torch.finfo(torch.float64).max)  # what is further off would overflow
    moved = fields.to(torch.float64).nan_to_num(0.0).clamp(-far, far)
    moved = _scaled(limit, _nearest(target, moved)).to(fields.dtype)
    return torch.where(inside[:, None, None, None], fields, moved)


def _nearest(threat: Threat, fields: Tensor) -> Tensor:
    """Smooth and shorten, in turns where that is needed, and smooth once more what is small now."""
    region = threat.region((fields.shape[1], fields.shape[2]))
    lower, upper = region.lower.to(fields.device), region.upper.to(fields.device)
    rounds = ROUNDS if threat.gamma < math.inf and threat.norm != math.inf else 1
    for _ in range(rounds):
        if threat.gamma < math.inf:
            fields = smooth(fields, threat.gamma)
        fields = shorten(torch.clamp(fields, lower, upper), float(threat.norm), threat.delta)
    if threat.gamma == math.inf:
        return fields
    return torch.clamp(smooth(fields, threat.gamma), lower, upper)


def smooth(fields: Tensor, gamma: float | Tensor) -> Tensor:
    """The nearest fields, in the maximum norm, whose 4-neighbours differ by at most gamma.

    ``gamma`` is one number or one for each field, of shape (B, 1, 1, 1).
    Each is the mean of the largest such field below and the smallest above, the minimum and
    maximum over pixels of v_j +- gamma |i - j|_1, which split into one pass along each axis. A
    gamma beyond the field's own range asks for nothing, and would only cost precision.
    """
    spread = fields.amax((1, 2), keepdim=True) - fields.amin((1, 2), keepdim=True)
    gamma = torch.minimum(spread, torch.as_tensor(gamma, dtype=fields.dtype, device=fields.device))
    below, above = fields, -fields
    for axis in (1, 2):
        below, above = _cone(below, gamma, axis), _cone(above, gamma, axis)
    return 0.5 * (below - above)


def _cone(x: Tensor, gamma: Tensor, axis: int) -> Tensor:
    """Minimum over k of x_k + gamma |j - k| along an axis."""
    steps = torch.arange(x.shape[axis], dtype=x.dtype, device=x.device)
    slope = gamma * steps.view([-1 if a == axis else 1 for a in range(x.dim())])
    forward = (x - slope).cummin(axis).values + slope
    backward = (x + slope).flip(axis).cummin(axis).values.flip(axis) - slope
    return torch.minimum(torch.minimum(forward, backward), x)


def shorten(fields: Tensor, norm: float, delta: float) -> Tensor:
    """The nearest displacement, in the Euclidean norm, in the ball; no component grows."""
    if norm == math.inf:
        return fields.clamp(-delta, delta)
    if norm == 2:
        length = torch.linalg.vector_norm(fields, dim=-1, keepdim=True)
        return fields * torch.where(length > delta, delta / length, 1.0)
    size = fields.abs()
    total, most = size.sum(-1, keepdim=True), size.amax(-1, keepdim=True)
    # Soft threshold: both components lose the same, unless that uses the smaller one up.
    cut = torch.where(most - (total - most) >= delta, most - delta, (total - delta) / 2)
    short = (size - cut.clamp(min=0)).clamp(min=0) * fields.sign()
    return torch.where(total > delta, short, fields)


def _scaled(threat: Threat, fields: Tensor) -> Tensor:
    """Shrink towards the zero field until norms and differences fit."""
    norms = torch.linalg.vector_norm(fields, ord=float(threat.norm), dim=-1).amax((1, 2))
    factor = torch.where(norms > threat.delta, threat.delta / norms, 1.0)
    for axis in (1, 2):
        if fields.shape[axis] > 1:
            steps = fields.diff(dim=axis).abs().amax((1, 2, 3))
            factor = torch.where(
                steps > threat.gamma, torch.minimum(factor, threat.gamma / steps), factor
            )
    factor = torch.where(factor < 1, factor * (1 - 2 * UNIT), factor)
    return fields * factor[:, None, None, None]
