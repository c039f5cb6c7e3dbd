"""lowest: the minimum over any region, with slopes and combined channels, up to stated rounding."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.flow.agree import NORMS, cut, random_pixels
from tests.flow.pictures import draw, picture
from tests.oracle import joint_minimum, pixel_minimum, value
from warpcert import Unsound
from warpcert.core import rounding
from warpcert.flow.minimum import lowest
from warpcert.flow.region import Region

DOUBLE = torch.float64
MOVED = 4e-15
"""Displacements are computed with a few roundings of numbers below 4."""


def random_region(
    norm: float, delta: float, shape: tuple[int, ...], kind: str, rng: np.random.Generator
) -> Region:
    """Boxes of a kind, anywhere around the ball, moved towards the origin until they touch it."""
    ends = np.sort(rng.uniform(-1.2 * delta, 1.2 * delta, (2, *shape)), axis=0)
    lower, upper = ends
    if kind == "points":
        upper = lower.copy()
    elif kind == "segments":
        axis = int(rng.integers(2))
        upper[..., axis] = lower[..., axis]
    elif kind == "grid":
        lower, upper = np.floor(lower), np.ceil(upper)
    elif kind == "halves":
        lower = np.round(2 * lower) / 2
        upper = lower + rng.choice([0, 0.25, 0.5, 1.0], shape)
    elif kind == "corners":  # one corner just inside the ball
        lower = 0.45 * delta * np.ones(shape)
        upper = 9.0 * np.ones(shape)
        sign = rng.choice([-1, 1], shape)
        lower, upper = np.where(sign > 0, lower, -upper), np.where(sign > 0, upper, -lower)
    low, high = torch.from_numpy(lower.copy()), torch.from_numpy(upper.copy())
    nearest = torch.clamp(torch.zeros_like(low), low, high)
    size = torch.linalg.vector_norm(nearest, ord=norm, dim=-1, keepdim=True)
    shrink = torch.where(size > delta, 0.999 * delta / size, 1.0)
    return Region(norm, delta, low * shrink, high * shrink)


def assert_lowest(
    images: Tensor, region: Region, slope: Tensor | None, pixels: list[tuple[int, int]]
) -> None:
    """The value is the minimum up to `rounding.geometry`, and reached where it is said to be."""
    found, where = lowest(images, region, slope=slope, track=True)
    assert where is not None
    image = images[0, 0].numpy()
    for i, j in pixels:
        tilt = (0.0, 0.0) if slope is None else tuple(slope[0, 0, i, j].tolist())
        box = cut(region, i, j)
        low, high = pixel_minimum(image, i, j, region.norm, region.delta, box, tilt)
        got = Fraction(found[0, 0, i, j].item())
        largest = float(images.abs().max()) + (1 + region.delta) * sum(map(abs, tilt))
        slack = Fraction(rounding.geometry(region.norm, region.delta) * largest)
        note = f"{region.norm}, {region.delta}, {box}, slope {tilt}, pixel ({i}, {j})"
        assert low - slack <= got <= high + slack, note
        dx, dy = where[0, 0, i, j].tolist()
        there = value(image, i, j, dx, dy) + Fraction(tilt[0] * dx + tilt[1] * dy)
        assert abs(there - got) <= 1e-12, note
        assert box[0] - MOVED <= dx <= box[1] + MOVED and box[2] - MOVED <= dy <= box[3] + MOVED
        size = {1.0: abs(dx) + abs(dy), 2.0: math.hypot(dx, dy)}.get(
            region.norm, max(abs(dx), abs(dy))
        )
        assert size <= region.delta + MOVED, note


KINDS = ["boxes", "points", "segments", "grid", "halves", "corners"]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tilted", [False, True])
def test_regions_of_their_own_for_every_pixel(norm: float, kind: str, tilted: bool) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for number, delta in enumerate((0.4, 1.0, 1.7, 3.2)):
        height, width = [(3, 4), (1, 5), (2, 2), (5, 1)][number]
        images = picture(("random", "quantised", "binary")[number % 3], 1, height, width, number)
        region = random_region(norm, delta, (height, width, 2), kind, rng)
        slope = torch.from_numpy(rng.normal(size=(1, 1, height, width, 2))) if tilted else None
        assert_lowest(images, region, slope, random_pixels(height, width, 4, number))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tilted", [False, True])
def test_one_region_for_all_pixels(norm: float, kind: str, tilted: bool) -> None:
    rng = np.random.default_rng(KINDS.index(kind) + 10)
    for number, delta in enumerate((0.4, 1.0, 2.6)):
        images = picture(("random", "quantised", "binary")[number], 1, 3, 4, number)
        region = random_region(norm, delta, (2,), kind, rng)
        assert region.uniform
        slope = torch.from_numpy(rng.normal(size=(1, 1, 3, 4, 2))) if tilted else None
        assert_lowest(images, region, slope, random_pixels(3, 4, 4, number))


@pytest.mark.parametrize("norm", NORMS)
def test_displacement_beyond_the_image_still_costs_slope(norm: float) -> None:
    # The image is flat out there, the slope is not: the minimum is at the end of the ball.
    images = picture("random", 1, 1, 2)
    ball = torch.full((2,), 7.0, dtype=DOUBLE)
    slope = torch.tensor([-1.0, 0.0], dtype=DOUBLE).expand(1, 1, 1, 2, 2)
    found, where = lowest(images, Region(norm, 7.0, -ball, ball), slope=slope, track=True)
    assert where is not None
    torch.testing.assert_close(found[0, 0, 0], images[0, 0, 0, 1].expand(2) - 7)
    torch.testing.assert_close(where[0, 0, 0, :, 0], ball)


@pytest.mark.parametrize("norm", NORMS)
def test_boxes_outside_the_image(norm: float) -> None:
    images = picture("random", 1, 2, 3)
    lower = torch.tensor([4.0, -0.5], dtype=DOUBLE)
    upper = torch.tensor([5.0, 0.5], dtype=DOUBLE)
    region = Region(norm, 6.0, lower, upper)
    for slope in (None, torch.full((1, 1, 2, 3, 2), 0.3, dtype=DOUBLE)):
        assert_lowest(images, region, slope, list(itertools.product(range(2), range(3))))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.5, 1.3])
def test_halves_of_a_region_share_its_minimum(norm: float, delta: float) -> None:
    images = picture("random", 1, 4, 5)
    ball = torch.full((4, 5, 2), delta, dtype=DOUBLE)
    middle = ball * (2 * torch.rand((4, 5, 2), dtype=DOUBLE, generator=draw(3)) - 1) * 0.5
    whole, _ = lowest(images, Region(norm, delta, -ball, ball))
    for axis in (0, 1):
        left, right = ball.clone(), -ball
        left[..., axis] = right[..., axis] = middle[..., axis]
        halves = [Region(norm, delta, -ball, left), Region(norm, delta, right, ball)]
        both = torch.stack([lowest(images, half)[0] for half in halves]).amin(0)
        torch.testing.assert_close(both, whole, rtol=0, atol=1e-13)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("tilted", [True, False])
def test_channels_are_combined_before_they_are_minimised(
    norm: float, uniform: bool, tilted: bool
) -> None:
    rng = np.random.default_rng(7)
    images = picture("real", 3, 3, 4)
    rows = torch.from_numpy(rng.normal(size=(1, 2, 3, 3, 4)))
    ball = torch.full((2,) if uniform else (3, 4, 2), 0.8, dtype=DOUBLE)
    region = Region(norm, 0.8, -ball, ball)
    slope = torch.from_numpy(rng.normal(size=(1, 2, 3, 4, 2))) if tilted else None
    found, where = lowest(images, region, rows, slope, track=True)
    assert where is not None
    for r, (i, j) in itertools.product(range(2), random_pixels(3, 4, 4, 1)):
        weights = rows[0, r, :, i, j].numpy()
        tilt = (0.0, 0.0) if slope is None else tuple(slope[0, r, i, j].tolist())
        low, _ = joint_minimum(images[0].numpy(), weights, i, j, norm, 0.8, None, tilt)
        assert found[0, r, i, j].item() == pytest.approx(float(low), abs=1e-12)
        dx, dy = where[0, r, i, j].tolist()
        bent = [value(images[0, c].numpy(), i, j, dx, dy) for c in range(3)]
        total = float(np.dot(weights, [float(x) for x in bent])) + tilt[0] * dx + tilt[1] * dy
        assert total == pytest.approx(float(low), abs=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_shared_and_separate_boxes_agree(norm: float) -> None:
    images = picture("random", 2, 4, 5)
    ball = torch.full((2,), 1.4, dtype=DOUBLE)
    one, _ = lowest(images, Region(norm, 1.4, -ball, ball))
    wide = ball.repeat(4, 5, 1)
    other, _ = lowest(images, Region(norm, 1.4, -wide, wide))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-14)


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("tilted", [True, False])
def test_curves_in_parts_are_all_there(
    norm: float, tilted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = picture("quantised", 2, 6, 7)
    ball = torch.full((6, 7, 2), 2.8, dtype=DOUBLE)
    slope = 0.3 * torch.randn((1, 2, 6, 7, 2), dtype=DOUBLE) if tilted else None
    region = Region(norm, 2.8, -ball, ball)
    whole, _ = lowest(images, region, slope=slope)
    monkeypatch.setattr("warpcert.flow.minimum.MANY", 0)
    parts, _ = lowest(images, region, slope=slope)
    torch.testing.assert_close(parts, whole, rtol=0, atol=1e-14)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_what_is_no_number_has_no_minimum(norm: float, wrong: float) -> None:
    images = torch.full((1, 1, 2, 2), wrong, dtype=DOUBLE)
    ball = torch.full((2,), 0.5, dtype=DOUBLE)
    with pytest.raises(Unsound, match="no numbers"):
        lowest(images, Region(norm, 0.5, -ball, ball))


@pytest.mark.parametrize("norm", NORMS)
def test_tracking_changes_no_value(norm: float) -> None:
    images = picture("random", 2, 4, 5)
    ball = torch.full((2,), 1.4, dtype=DOUBLE)
    region = Region(norm, 1.4, -ball, ball)
    plain, nothing = lowest(images, region)
    tracked, _ = lowest(images, region, track=True)
    assert nothing is None
    assert torch.equal(plain, tracked)
