"""Rows to try flow constraints on, and what the convex hulls of the pixels give for them."""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor, nn

from tests.flow.pictures import picture
from tests.oracle import hull_optimum, tinf_candidates
from warpcert import warp

DOUBLE = torch.float64


@cache
def network_rows(channels: int, side: int, count: int = 2, batch: int = 1) -> tuple[Tensor, Tensor]:
    """Images and the gradients of a small network's logits: rows as verifiers ask them."""
    images = picture("real", channels, side, side, batch=batch).to(torch.float32)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        network = nn.Sequential(
            nn.Conv2d(channels, 8, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 8, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.LazyLinear(count),
        )
        x = images.clone().requires_grad_()
        logits = network(x)
    rows = [torch.autograd.grad(y.sum(), x, retain_graph=True)[0] for y in logits.unbind(1)]
    return images.to(DOUBLE), torch.stack(rows, dim=1).to(DOUBLE)


def square(delta: float) -> Tensor:
    """The points (K, 2) that decide everything for norm inf."""
    points = [(float(x), float(y)) for x, y in tinf_candidates(delta)]
    return torch.tensor(points, dtype=DOUBLE)


def disc(norm: float, delta: float, rim: int = 96) -> Tensor:
    """Many points (K, 2) of a ball with norm 1 or 2: on its rim, its axes and the grid."""
    angles = torch.arange(rim, dtype=DOUBLE) * (2 * math.pi / rim)
    around = torch.stack([angles.cos(), angles.sin()], dim=-1)
    around *= delta / torch.linalg.vector_norm(around, ord=norm, dim=-1, keepdim=True)
    line = torch.arange(-math.ceil(delta), math.ceil(delta) + 1, dtype=DOUBLE)
    grid = torch.cartesian_prod(line, line)
    inside = torch.linalg.vector_norm(grid, ord=norm, dim=-1) < delta
    return torch.cat([grid[inside], around, 0.5 * around[::4]])


def at_points(image: Tensor, row: Tensor, points: Tensor) -> Tensor:
    """The row's combination of channels (K, H, W) when all pixels move alike, by each point."""
    fields = points[:, None, None, :].expand(-1, *image.shape[-2:], -1)
    return (warp(image[None], fields.contiguous()) * row).sum(1)


def hull_bound(image: Tensor, row: Tensor, points: Tensor, gamma: float) -> float:
    """The most that duals can prove, for norm inf; an upper bound of it for the others."""
    return hull_optimum(at_points(image, row, points).numpy(), points.numpy(), gamma)
