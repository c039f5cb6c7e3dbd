"""translation_bound: sound for every gamma, exact for one common translation."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as nn
from torch import Tensor

from tests.flow.agree import NORMS
from tests.flow.pictures import draw, picture
from tests.flow.problems import at_points, disc, square
from warpcert import Threat, warp
from warpcert.flow.translation import translation_bound

DOUBLE = torch.float64


def bound_of(images: Tensor, threat: Threat, rows: Tensor) -> Tensor:
    margin = (math.ceil(threat.delta),) * 4
    region = threat.region((images.shape[2], images.shape[3]))
    return translation_bound(nn.pad(images, margin, mode="replicate"), region, rows, threat.gamma)


@pytest.mark.parametrize("delta", [0.3, 1.0, 1.7])
@pytest.mark.parametrize("channels", [1, 3])
def test_exact_without_deviation(delta: float, channels: int) -> None:
    images = picture("real", channels, 7, 6, batch=2)
    rows = torch.randn((2, 3, channels, 7, 6), dtype=DOUBLE, generator=draw(0))
    bounds = bound_of(images, Threat("inf", delta, 0.0), rows)
    for b in range(2):
        for r in range(3):
            least = at_points(images[b], rows[b, r], square(delta)).sum((1, 2)).min()
            assert bounds[b, r] <= least + 1e-13
            assert bounds[b, r] >= least - 1e-9


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("delta", [0.6, 1.3])
def test_round_balls_without_deviation(norm: float, delta: float) -> None:
    images = picture("random", 1, 6, 6)
    rows = torch.randn((1, 4, 1, 6, 6), dtype=DOUBLE, generator=draw(0))
    bounds = bound_of(images, Threat(norm, delta, 0.0), rows)
    for r in range(4):
        least = at_points(images[0], rows[0, r], disc(norm, delta, 4000)).sum((1, 2)).min()
        assert bounds[0, r] <= least + 1e-13
        assert bounds[0, r] >= least - 1e-3


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [0.001, 0.02, 0.3])
def test_no_member_is_below(norm: float, gamma: float) -> None:
    images, threat = picture("real", 3, 8, 7), Threat(norm, 1.1, gamma)
    rows = torch.randn((1, 8, 3, 8, 7), dtype=DOUBLE, generator=draw(0))
    fields = threat.sample((8, 7), 100, generator=draw(1))
    values = torch.einsum("rchw,nchw->rn", rows[0], warp(images, fields)).amin(1)
    assert bool((bound_of(images, threat, rows)[0] <= values + 1e-12).all())


@pytest.mark.parametrize("down", [False, True])
def test_two_pixels_that_drift_apart(down: bool) -> None:
    # On a slope of 1/8 the pixels 2 and 5 gain gamma / 8 at every step between them, not less.
    slope = (torch.arange(8, dtype=DOUBLE) / 8).expand(1, 1, 3, 8).contiguous()
    rows = torch.zeros((1, 1, 1, 3, 8), dtype=DOUBLE)
    rows[..., 1, 2], rows[..., 1, 5] = 1.0, -1.0
    if down:
        slope, rows = slope.transpose(2, 3).contiguous(), rows.transpose(3, 4).contiguous()
    for gamma in (0.0, 0.1, 0.25):
        bound = bound_of(slope, Threat("inf", 0.9, gamma), rows).item()
        assert bound == pytest.approx(-3 / 8 - 3 * gamma / 8, abs=1e-11)
        assert bound <= -3 / 8 - 3 * gamma / 8


def test_pixels_that_drift_to_both_ends_of_the_ball() -> None:
    # Three steps of 0.3 are more than the way from one end of the ball to the other, 0.8.
    slope = (torch.arange(8, dtype=DOUBLE) / 8).expand(1, 1, 3, 8).contiguous()
    rows = torch.zeros((1, 1, 1, 3, 8), dtype=DOUBLE)
    rows[..., 1, 2], rows[..., 1, 5] = 1.0, -1.0
    bound = bound_of(slope, Threat("inf", 0.4, 0.3), rows).item()
    assert -3 / 8 - 0.8 / 8 - 1e-11 <= bound <= -3 / 8 - 0.8 / 8


def test_both_slopes_of_a_saddle_count() -> None:
    # Around two pixels, four steps apart, the image is 0.5 + 0.4 dx dy. In a corner of the ball
    # both slopes are 0.4 * 0.9, though the middle lines are flat.
    saddle = torch.tensor([[0.4, 0.0, -0.4], [0.0, 0.0, 0.0], [-0.4, 0.0, 0.4]], dtype=DOUBLE)
    image = torch.full((1, 1, 3, 9), 0.5, dtype=DOUBLE)
    image[..., 1:4] += saddle
    image[..., 5:8] += saddle
    rows = torch.zeros((1, 1, 1, 3, 9), dtype=DOUBLE)
    rows[..., 1, 2], rows[..., 1, 6] = 1.0, -1.0
    threat = Threat("inf", 0.9, 0.05)
    climbing = (0.9 + 0.05 * (torch.arange(9, dtype=DOUBLE) - 6)).clamp(max=0.9)
    field = climbing[None, None, :, None].expand(1, 3, 9, 2).contiguous()
    assert bool(threat.contains(field).all())
    reached = (rows[0, 0] * warp(image, field)[0]).sum().item()
    bound = bound_of(image, threat, rows).item()
    assert reached - 0.02 <= bound <= reached


def test_a_slope_at_the_regions_end_counts() -> None:
    # The middle row is flat; only above and below, where a pixel gets when it also moves
    # vertically, does the image rise: 0.9 of the way, the slope is 0.9 / 8.
    image = torch.zeros((1, 1, 3, 8), dtype=DOUBLE)
    image[:, :, ::2] = torch.arange(8, dtype=DOUBLE) / 8
    rows = torch.zeros((1, 1, 1, 3, 8), dtype=DOUBLE)
    rows[..., 1, 2], rows[..., 1, 5] = 1.0, -1.0
    threat = Threat("inf", 0.9, 0.1)
    apart = torch.zeros((1, 3, 8, 2), dtype=DOUBLE)
    apart[..., 1] = 0.9
    apart[..., 0] = 0.1 * (torch.arange(8, dtype=DOUBLE) - 3.5).clamp(-2, 2)
    assert bool(threat.contains(apart).all())
    reached = (rows[0, 0] * warp(image, apart)[0]).sum().item()
    bound = bound_of(image, threat, rows).item()
    assert bound <= reached + 1e-15
    assert bound >= reached - 0.4


def test_no_pixel_loses_more_than_its_range() -> None:
    images = picture("random", 1, 6, 6)
    rows = torch.randn((1, 2, 1, 6, 6), dtype=DOUBLE, generator=draw(0))
    near, far = (bound_of(images, Threat("inf", 0.5, gamma), rows) for gamma in (1.0, 50.0))
    assert bool((far > near - 2 * rows.abs().sum((2, 3, 4))).all())
