"""Planes that support the lower convex hull of points in space, many at once."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.core.rounding import PLANE_GAP
from warpcert.core.shapes import Float, Int

PIVOTS = 200
"""Most exchanges of a triangle's corner; fewer than 20 are usual. Only tightness depends on it."""


def supporting_slopes(
    positions: Float[Tensor, "K #n 2"],
    values: Float[Tensor, "K n"],
    target: Float[Tensor, "n 2"],
    triangle: Int[Tensor, "n 3"],
) -> tuple[Float[Tensor, "n 2"], Int[Tensor, "n 3"]]:
    """For each of n problems the slope of the highest plane at ``target`` below all K points.

    This is the simplex method on the dual, with three basic variables: a triangle of points
    around the target carries a plane; while some point lies below it, the lowest takes the place
    of the corner that keeps the target inside. ``triangle`` must hold the target at the start;
    the last triangles are returned to go on from when points are added. Nothing is claimed of
    the plane's height: the caller computes the constant that makes it valid.
    """
    slopes = torch.zeros_like(target)
    triangle = triangle.clone()
    spread = values.amax(0) - values.amin(0)
    active = torch.arange(target.shape[0], device=target.device)
    for _ in range(PIVOTS):
        corners = triangle[active].T
        where = positions[:, active] if positions.shape[1] > 1 else positions
        height = values[:, active]
        at = where.expand(-1, active.numel(), -1).gather(0, corners[..., None].expand(-1, -1, 2))
        plane = _plane(at, height.gather(0, corners))
        slopes[active] = plane[:, 1:]
        residual = height - where[..., 0] * plane[:, 1] - where[..., 1] * plane[:, 2]
        least, enter = residual.min(0)
        below = least < plane[:, 0] - PLANE_GAP * spread[active]
        if not bool(below.any()):
            break
        active, at, enter = active[below], at[:, below], enter[below]
        entering = where[:, below] if where.shape[1] > 1 else where
        entering = entering.expand(-1, active.numel(), -1)
        point = entering.gather(0, enter[None, :, None].expand(1, -1, 2))[0]
        weight, share = _barycentric(at, target[active]), _barycentric(at, point)
        ratio = torch.where(share > PLANE_GAP, weight / share, torch.inf)
        leave = ratio.argmin(0)
        triangle[active, leave] = enter
    return slopes, triangle


def _plane(at: Tensor, height: Tensor) -> Tensor:
    """(constant, slope dx, slope dy) of the planes through three points each: (3, n, 2), (3, n)."""
    (x1, y1), (x2, y2) = (at[1] - at[0]).unbind(-1), (at[2] - at[0]).unbind(-1)
    h1, h2 = height[1] - height[0], height[2] - height[0]
    area = x1 * y2 - x2 * y1
    dx, dy = (h1 * y2 - h2 * y1) / area, (x1 * h2 - x2 * h1) / area
    return torch.stack([height[0] - dx * at[0, :, 0] - dy * at[0, :, 1], dx, dy], dim=-1)


def _barycentric(at: Tensor, point: Tensor) -> Tensor:
    """Weights (3, n) of the corners that make up each point."""
    (x1, y1), (x2, y2) = (at[1] - at[0]).unbind(-1), (at[2] - at[0]).unbind(-1)
    x, y = (point - at[0]).unbind(-1)
    area = x1 * y2 - x2 * y1
    second, third = (x * y2 - x2 * y) / area, (x1 * y - x * y1) / area
    return torch.stack([1 - second - third, second, third])
