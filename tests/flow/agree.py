"""Comparisons of the package with the exact reference, one pixel at a time.

The reference encloses a minimum between two rationals: equal for norms 1 and inf, at most 1e-14
apart for norm 2. A bound is refuted when it lies above the upper one: no tolerance is involved,
floats are compared as the rationals they stand for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from tests.oracle import Box, pixel_maximum, pixel_minimum
from warpcert import Interval, Threat
from warpcert.flow.region import Region

Border = Literal["clamp", "inside"]
NORMS = (1.0, 2.0, math.inf)
DELTAS = (0.0, 0.1, 0.3, 0.5, 0.99, 1.0, 1.3, 1.5, 2.0, 3.7)
TIGHT = 1e-9
"""How far a bound computed in float64 may stay behind the exact one."""
STORED = 2.0**-23
"""How far a number in [-1, 1] may stay behind when it is stored in float32, rounded outwards."""


def cut(region: Region, i: int, j: int) -> Box:
    """The box that cuts a pixel's region, as the reference wants it."""
    if region.uniform:
        (x0, y0), (x1, y1) = region.lower.tolist(), region.upper.tolist()
    else:
        (x0, y0), (x1, y1) = region.lower[..., i, j, :].tolist(), region.upper[i, j].tolist()
    return x0, x1, y0, y1


def some_pixels(height: int, width: int, count: int, seed: int = 0) -> list[tuple[int, int]]:
    """Corners, middles of edges and the centre, then others at random: each once."""
    ends = itertools.product((0, height - 1, height // 2), (0, width - 1, width // 2))
    others = list(itertools.product(range(height), range(width)))
    np.random.default_rng(seed).shuffle(others)
    return list(dict.fromkeys([*ends, *others]))[:count]


def random_pixels(height: int, width: int, count: int, seed: int) -> list[tuple[int, int]]:
    """Different pixels for different seeds."""
    chosen = np.random.default_rng(seed).permutation(height * width)[:count]
    return [divmod(int(k), width) for k in chosen]


def true_bounds(
    image: Tensor, threat: Threat, i: int, j: int
) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """Enclosures of a pixel's minimum and maximum, for one channel (H, W)."""
    box = cut(threat.region((image.shape[0], image.shape[1])), i, j)
    norm, delta, array = float(threat.norm), threat.delta, image.numpy()
    return (
        pixel_minimum(array, i, j, norm, delta, box),
        pixel_maximum(array, i, j, norm, delta, box),
    )


def assert_exact(
    found: Interval, images: Tensor, threat: Threat, pixels: list[tuple[int, int]]
) -> None:
    """The bounds hold, without any tolerance, and are tight."""
    slack = Fraction(TIGHT if images.dtype == torch.float64 else STORED)
    for k, c, (i, j) in everywhere(images, pixels):
        least, most = true_bounds(images[k, c], threat, i, j)
        low, high = (rational(end[k, c, i, j]) for end in (found.lower, found.upper))
        where = f"{threat}, image {k}, channel {c}, pixel ({i}, {j})"
        assert low <= least[1] and most[0] <= high, f"unsound: {where}"
        assert least[0] - low <= slack and high - most[1] <= slack, f"loose: {where}"


def everywhere(
    images: Tensor, pixels: list[tuple[int, int]]
) -> Iterator[tuple[int, int, tuple[int, int]]]:
    yield from itertools.product(range(images.shape[0]), range(images.shape[1]), pixels)


def rational(number: Tensor) -> Fraction:
    """The number that a float stands for."""
    return Fraction(number.item())
