"""Fields to try a threat with: its extreme members and random ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from warpcert.core.shapes import Float
from warpcert.flow.project import smooth

if TYPE_CHECKING:
    from warpcert.flow.threat import Threat

_Pattern = Callable[[tuple[float, float], torch.Generator | None], Tensor]


def sample(
    threat: Threat,
    shape: tuple[int, int],
    n: int,
    generator: torch.Generator | None,
    kind: Literal["mixed", "uniform"],
) -> Float[Tensor, "n H W 2"]:
    """Draw n fields in float64 on the CPU; the caller projects them (most are members already)."""
    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"shape must be (H, W) with H, W >= 1, got {shape}")
    if n < 0:
        raise ValueError(f"n must be >= 0, got {n}")
    if kind == "uniform":
        return _uniform(threat, shape, n, generator)
    if kind != "mixed":
        raise ValueError(f"kind must be 'mixed' or 'uniform', got {kind!r}")
    extreme, at_random = math.ceil(n / 2), n // 2
    fields = torch.empty((n, *shape, 2), dtype=torch.float64)
    fields[::2] = _extremes(threat, shape, extreme, generator)
    fields[1::2] = _randoms(threat, shape, at_random, generator)
    return fields


def _uniform(
    threat: Threat, shape: tuple[int, int], n: int, generator: torch.Generator | None
) -> Tensor:
    """Uniform in every pixel's region: drawn from its box until it is in the ball.

    The boxes hold the origin, so at least half of each lies in the ball, whichever the norm.
    """
    region = threat.region(shape)
    lower = region.lower.expand(n, *shape, 2)
    width = (region.upper - region.lower).expand_as(lower)
    fields = lower + width * torch.rand(lower.shape, dtype=lower.dtype, generator=generator)
    while True:
        outside = ~region.in_ball(fields[..., 0].abs(), fields[..., 1].abs())
        if not bool(outside.any()):
            return fields
        again = torch.rand((int(outside.sum()), 2), dtype=lower.dtype, generator=generator)
        fields[outside] = lower[outside] + width[outside] * again


def _randoms(
    threat: Threat, shape: tuple[int, int], n: int, generator: torch.Generator | None
) -> Tensor:
    """Uniform fields, every other one smoothed over a random scale and stretched to the ball."""
    fields = _uniform(threat, shape, n, generator)
    rough = fields[1::2]
    scale = torch.rand((rough.shape[0], 1, 1, 1), dtype=torch.float64, generator=generator)
    grain = (threat.delta * 2 ** (-6 * scale)).clamp(max=threat.gamma)
    wavy = smooth(rough, grain)
    peak = wavy.abs().amax((1, 2, 3), keepdim=True)
    rough.copy_(wavy * torch.where(peak > 0, threat.delta / peak, 1.0))
    return fields


def _extremes(
    threat: Threat, shape: tuple[int, int], n: int, generator: torch.Generator | None
) -> Tensor:
    """Translations, then fields that use up gamma (if finite) or jump across the whole ball."""
    fields = torch.zeros((n, *shape, 2), dtype=torch.float64)
    tips = _tips(threat)
    patterns = itertools.cycle(_patterns(threat, shape))
    for k in range(n):
        tip = tips[k % len(tips)] if k < 2 * len(tips) else _tip(threat, generator)
        if k % 2 == 0 and k < 2 * len(tips):
            fields[k] = torch.tensor(tips[k // 2], dtype=torch.float64)
        else:
            fields[k] = next(patterns)(tip, generator)
    return fields


def _tips(threat: Threat) -> list[tuple[float, float]]:
    """The extreme points of the ball (norm 2: those on the axes and diagonals)."""
    d, h = threat.delta, threat.delta * math.sqrt(0.5)
    axes = [(d, 0.0), (0.0, d), (-d, 0.0), (0.0, -d)]
    if threat.norm == 1:
        return axes
    r = d if threat.norm == math.inf else h
    diagonals = [(r, r), (-r, r), (-r, -r), (r, -r)]
    return diagonals if threat.norm == math.inf else diagonals + axes


def _tip(threat: Threat, generator: torch.Generator | None) -> tuple[float, float]:
    """A random extreme point of the ball."""
    u = float(torch.rand((), generator=generator))
    if threat.norm == 2:
        return (
            threat.delta * math.cos(2 * math.pi * u),
            threat.delta * math.sin(2 * math.pi * u),
        )
    tips = _tips(threat)
    return tips[int(u * len(tips))]


def _patterns(threat: Threat, shape: tuple[int, int]) -> list[_Pattern]:
    """Ways to spread a displacement over the image that spend all of gamma."""
    rows, columns = (torch.arange(length, dtype=torch.float64) for length in shape)
    signs = (-1.0) ** (rows[:, None] + columns)[..., None]

    def checkerboard(tip: tuple[float, float], _: torch.Generator | None) -> Tensor:
        goal = torch.tensor(tip, dtype=torch.float64)
        jump = torch.clamp(goal.abs(), max=threat.gamma / 2)
        return (goal - goal.sign() * jump) + signs * goal.sign() * jump

    def corners(tip: tuple[float, float], generator: torch.Generator | None) -> Tensor:
        flips = torch.randint(0, 2, (*shape, 1), generator=generator)
        return torch.tensor(tip, dtype=torch.float64) * (2.0 * flips - 1)

    def ramp(along: Tensor) -> _Pattern:
        def pattern(tip: tuple[float, float], _: torch.Generator | None) -> Tensor:
            return _climb(threat, tip, along)

        return pattern

    def cone(tip: tuple[float, float], generator: torch.Generator | None) -> Tensor:
        i, j = (int(torch.randint(0, length, (), generator=generator)) for length in shape)
        return _climb(threat, tip, (rows[:, None] - i).abs() + (columns - j).abs())

    if threat.gamma == math.inf:
        return [checkerboard, corners]
    down, right = rows[:, None].expand(shape), columns.expand(shape)
    ramps = [right, down, right + down, right.flip(1) + down, down.flip(0), right.flip(1)]
    return [checkerboard, cone, *(ramp(along) for along in ramps)]


def _climb(threat: Threat, tip: tuple[float, float], steps: Tensor) -> Tensor:
    """From a tip towards the opposite one and back, gamma per step in the longer component."""
    goal = torch.tensor(tip, dtype=torch.float64)
    longest = float(goal.abs().max())
    if longest == 0:
        return torch.zeros((*steps.shape, 2), dtype=torch.float64)
    way = threat.gamma * steps / longest  # 0 at the tip, 2 at the opposite one
    return goal * (1 - 2 * (way / 2 - 2 * torch.floor(way / 4 + 0.5)).abs())[..., None]
