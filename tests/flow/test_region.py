"""Region: never empty, cut to the image without losing values, and the cells it touches."""

from __future__ import annotations

import math

import pytest
import torch

from tests.flow.agree import NORMS
from tests.flow.pictures import draw, picture
from warpcert.flow.minimum import lowest
from warpcert.flow.region import Region

DOUBLE = torch.float64


def box(x0: float, x1: float, y0: float, y1: float) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([x0, y0], dtype=DOUBLE), torch.tensor([x1, y1], dtype=DOUBLE)


# Emptiness


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    "cut",
    [
        (0.5, 0.4, -1.0, 1.0),  # upside down
        (-1.0, 1.0, 0.1, -0.1),
        (1.1, 2.0, -1.0, 1.0),  # beyond the ball
        (-2.0, 2.0, -3.0, -1.1),
        (math.nan, 1.0, -1.0, 1.0),
    ],
)
def test_an_empty_region_is_refused(norm: float, cut: tuple[float, float, float, float]) -> None:
    with pytest.raises(ValueError, match="region is empty") as caught:
        Region(norm, 1.0, *box(*cut))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("norm", "corner"), [(1.0, (0.6, 0.41)), (2.0, (0.6, 0.81)), (math.inf, (0.5, 1.01))]
)
def test_a_box_that_misses_the_ball_is_refused(norm: float, corner: tuple[float, float]) -> None:
    x, y = corner
    for right, down in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        cut = [*sorted((right * x, right * 2.0)), *sorted((down * y, down * 2.0))]
        with pytest.raises(ValueError, match="region is empty"):
            Region(norm, 1.0, *box(*cut))
        smaller = [*sorted((right * x * 0.9, right * 2.0)), *sorted((down * y * 0.9, down * 2.0))]
        Region(norm, 1.0, *box(*smaller))


def test_one_empty_pixel_is_enough() -> None:
    lower, upper = -torch.ones((2, 3, 2), dtype=DOUBLE), torch.ones((2, 3, 2), dtype=DOUBLE)
    Region(2.0, 1.0, lower, upper)
    lower[1, 2, 0] = 1.5
    with pytest.raises(ValueError, match="region is empty"):
        Region(2.0, 1.0, lower, upper)


@pytest.mark.parametrize("norm", NORMS)
def test_a_point_will_do(norm: float) -> None:
    region = Region(norm, 0.0, *box(0.0, 0.0, 0.0, 0.0))
    assert region.uniform
    image = picture("random", 1, 2, 3)
    assert torch.equal(lowest(image, region)[0], image)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("delta", [0.5, 1.3, math.sqrt(2), 3.7])
def test_a_region_that_is_not_refused_has_a_minimum(
    norm: float, uniform: bool, delta: float
) -> None:
    # Single points on the border of the ball, where the test of emptiness may round either way.
    images = picture("random", 1, 1, 1)
    kept = 0
    for angle in (2 * math.pi * torch.rand(80, dtype=DOUBLE, generator=draw(0))).tolist():
        point = torch.tensor([math.cos(angle), math.sin(angle)], dtype=DOUBLE)
        point = point * (delta / float(torch.linalg.vector_norm(point, ord=norm)))
        point = point if uniform else point.view(1, 1, 2)
        try:
            region = Region(norm, delta, point, point.clone())
        except ValueError:
            continue
        kept += 1
        assert math.isfinite(lowest(images, region)[0].item()), point.tolist()
    assert kept > 20


# Cutting to the image


def test_shrunk_to_the_sides_of_the_image() -> None:
    region = Region(2.0, 5.0, *box(-5.0, 5.0, -5.0, 5.0)).shrunk_to(3, 4)
    assert (region.norm, region.delta) == (2.0, 5.0)
    assert region.lower.tolist() == [-3, -2] and region.upper.tolist() == [3, 2]


def test_small_regions_are_not_shrunk() -> None:
    region = Region(2.0, 0.5, *box(-0.5, 0.25, -0.5, 0.5)).shrunk_to(3, 4)
    assert region.lower.tolist() == [-0.5, -0.5] and region.upper.tolist() == [0.25, 0.5]


def test_boxes_without_the_origin_are_left_alone() -> None:
    region = Region(math.inf, 9.0, *box(4.0, 6.0, -9.0, 9.0))
    assert region.shrunk_to(3, 4) is region
    own = Region(
        math.inf, 9.0, -torch.ones((3, 4, 2), dtype=DOUBLE), torch.ones((3, 4, 2), dtype=DOUBLE)
    )
    assert own.shrunk_to(3, 4) is own


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 4), (4, 1), (2, 3), (3, 2)])
def test_shrinking_loses_no_value(norm: float, height: int, width: int) -> None:
    images = picture("random", 2, height, width)
    whole = Region(norm, 2.7, *box(-2.7, 2.7, -2.7, 2.7))
    torch.testing.assert_close(
        lowest(images, whole.shrunk_to(height, width))[0],
        lowest(images, whole)[0],
        rtol=0,
        atol=1e-14,
    )


# The cells a region touches


@pytest.mark.parametrize(
    ("low", "high", "length", "reach"),
    [
        (-0.5, 0.5, 9, range(-1, 1)),
        (0.0, 0.5, 9, range(1)),
        (-0.5, 0.0, 9, range(-1, 0)),
        (-1.0, 1.0, 9, range(-1, 1)),
        (-1.0, 1.0 + 1e-12, 9, range(-1, 2)),
        (-1.3, 2.6, 9, range(-2, 3)),
        (0.25, 0.25, 9, range(1)),
        (1.25, 1.75, 9, range(1, 2)),
        (-7.0, 7.0, 3, range(-3, 3)),
        (5.5, 6.5, 3, range(2, 3)),
        (-6.5, -5.5, 3, range(-3, -2)),
        (0.0, 0.0, 1, range(1)),
    ],
)
def test_reach(low: float, high: float, length: int, reach: range) -> None:
    for axis in (0, 1):
        ends = (low, high, 0.0, 0.0) if axis == 0 else (0.0, 0.0, low, high)
        region = Region(math.inf, 10.0, *box(*ends))
        assert region.reach(axis, length) == reach


def test_reach_of_many_pixels_covers_them_all() -> None:
    lower, upper = torch.zeros((1, 2, 2), dtype=DOUBLE), torch.zeros((1, 2, 2), dtype=DOUBLE)
    lower[0, 0, 0], upper[0, 1, 0] = -1.5, 2.5
    region = Region(math.inf, 3.0, lower, upper)
    assert not region.uniform
    assert region.reach(0, 9) == range(-2, 3)
    assert region.reach(1, 9) == range(1)


def test_moving_to_a_device_keeps_the_numbers() -> None:
    own = Region(
        2.0, 1.0, -torch.ones((2, 2, 2), dtype=DOUBLE), torch.ones((2, 2, 2), dtype=DOUBLE)
    )
    moved = own.to(torch.device("cpu"))
    assert torch.equal(moved.lower, own.lower) and torch.equal(moved.upper, own.upper)
    shared = Region(2.0, 1.0, *box(-1.0, 1.0, -1.0, 1.0))
    assert shared.to(torch.device("cpu")) is shared
