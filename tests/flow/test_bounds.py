"""pixel_bounds: sound without tolerance, and exact, pixel by pixel against the reference."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from tests.flow.agree import (
    DELTAS,
    NORMS,
    TIGHT,
    Border,
    assert_exact,
    random_pixels,
    some_pixels,
    true_bounds,
)
from tests.flow.pictures import KINDS, OVERVIEW, draw, picture
from tests.oracle import dense_samples, value
from warpcert import Interval, Threat, pixel_bounds, warp

SIZES = [(1, 1), (1, 5), (5, 1), (2, 3), (6, 5)]
GAMMAS = [math.inf, 0.3, 0.0]
WARP = 1e-15
"""`warp` rounds three interpolations between numbers of [0, 1]: less than 1e-15 together."""


def assert_same(found: Interval, expected: Interval, tolerance: float = 0.0) -> None:
    for one, other in ((found.lower, expected.lower), (found.upper, expected.upper)):
        torch.testing.assert_close(one, other, rtol=0, atol=tolerance)


# Known answers


@pytest.mark.parametrize("norm", NORMS)
def test_overview_example(norm: float) -> None:
    box = pixel_bounds(OVERVIEW, Threat(norm, 0.5))
    for column, (low, high) in enumerate([(0.0, 0.0), (0.0, 0.25), (0.25, 0.75), (0.75, 1.0)]):
        assert box.lower[0, 0, 1, column].item() == pytest.approx(low, abs=1e-12)
        assert box.upper[0, 0, 1, column].item() == pytest.approx(high, abs=1e-12)


@pytest.mark.parametrize(("norm", "high"), [(1.0, 0.25), (2.0, 0.5), (math.inf, 1.0)])
def test_maximum_between_the_axes(norm: float, high: float) -> None:
    # |dx dy| on a diagonal, on an arc and on a square of radius 1: nothing is at a grid point.
    saddle = torch.tensor([[1.0, 0, 1], [0, 0, 0], [1, 0, 1]], dtype=torch.float64)[None, None]
    box = pixel_bounds(saddle, Threat(norm, 1.0))
    assert box.lower[0, 0, 1, 1].item() == 0
    assert box.upper[0, 0, 1, 1].item() == pytest.approx(high, abs=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", DELTAS)
def test_constant_images_keep_intervals_of_width_zero(norm: float, delta: float) -> None:
    images = torch.full((1, 3, 4, 5), 0.7, dtype=torch.float32)
    box = pixel_bounds(images, Threat(norm, delta))
    assert torch.equal(box.lower, images) and torch.equal(box.upper, images)


@pytest.mark.parametrize("norm", NORMS)
def test_no_displacement_keeps_the_image(norm: float) -> None:
    images = picture("random", 3, 4, 5)
    assert_same(pixel_bounds(images, Threat(norm, 0.0)), Interval(images, images), 1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_delta_beyond_the_image_reaches_every_pixel(norm: float, border: Border) -> None:
    images = picture("random", 1, 3, 4)
    box = pixel_bounds(images, Threat(norm, 20.0, border=border))
    low, high = torch.aminmax(images)
    assert_same(box, Interval(low.expand_as(images), high.expand_as(images)), 1e-9)


# Against the reference


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_exact(norm: float, delta: float, kind: str) -> None:
    threat = Threat(norm, delta)
    seed = round(10 * delta)
    for height, width in SIZES:
        images = picture(kind, 1, height, width, seed)
        found = pixel_bounds(images, threat)
        assert_exact(found, images, threat, random_pixels(height, width, 2, seed))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", DELTAS)
def test_channels_are_bounded_one_by_one(norm: float, delta: float) -> None:
    kind = KINDS[DELTAS.index(delta) % len(KINDS)]
    images = picture(kind, 3, 4, 5, seed=3, batch=2)
    threat = Threat(norm, delta)
    assert_exact(pixel_bounds(images, threat), images, threat, [(0, 4), (2, 1)])


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_bounds_are_exact_inside(norm: float, delta: float, gamma: float) -> None:
    threat = Threat(norm, delta, gamma, "inside")
    number = DELTAS.index(delta) + 10 * GAMMAS.index(gamma)
    height, width = [(4, 6), (5, 3), (1, 6), (6, 1), (2, 2)][number % 5]
    images = picture(KINDS[number // 5 % 5], 1, height, width, number)
    assert_exact(
        pixel_bounds(images, threat), images, threat, some_pixels(height, width, 8)[number % 2 :: 2]
    )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    ("kind", "channels", "side", "delta"),
    [
        ("real", 1, 28, 0.3),
        ("real", 1, 28, 1.0),
        ("real", 3, 32, 1.5),
        ("quantised", 1, 64, 0.5),
        ("random", 1, 64, 3.7),
    ],
)
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_large_images(
    norm: float, kind: str, channels: int, side: int, delta: float, border: Border
) -> None:
    threat = Threat(norm, delta, border=border)
    images = picture(kind, channels, side, side)
    pixels = some_pixels(side, side, 9)[::2] if channels > 1 else some_pixels(side, side, 12)[::2]
    assert_exact(pixel_bounds(images, threat), images, threat, pixels)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", ["random", "quantised", "real"])
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_float32_images_are_exact_numbers(norm: float, kind: str, border: Border) -> None:
    threat = Threat(norm, 0.7, 0.4, border)
    images = picture(kind, 1, 4, 5).to(torch.float32)
    found = pixel_bounds(images, threat)
    assert found.lower.dtype == found.upper.dtype == torch.float32
    assert_exact(found, images, threat, some_pixels(4, 5, 8))


PIXELS = st.sampled_from([0.0, 1.0, 0.5, 1 / 255, 2 / 255, 127 / 255, 128 / 255, 0.25])
NOISE = st.sampled_from([0.0, 1e-17, 2.0**-54, 2.0**-53, 1e-12])
NEAR = [math.nextafter(1, 0), 1 + 1e-15, math.nextafter(2, 0), 1 + math.sqrt(2)]
NEAR += [math.sqrt(2) * (1 + k * 1e-15) for k in (-1, 0, 1)] + [math.sqrt(0.5), math.hypot(1, 2)]
RADII = st.one_of(
    st.sampled_from([0.0, 1e-300, 1e-9, 0.5, 1.0, 2.0, 7.5, 20.0, *NEAR]), st.floats(0, 4)
)


@st.composite
def hostile(draw: st.DrawFn) -> tuple[Tensor, Threat, tuple[int, int]]:
    """A small image of degenerate values, a threat and a pixel."""
    height, width = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    values = [draw(PIXELS) for _ in range(height * width)]
    if draw(st.booleans()):
        values = [min(1.0, v + draw(NOISE)) for v in values]
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    image = torch.tensor(values, dtype=torch.float64).view(1, 1, height, width).to(dtype)
    threat = Threat(
        draw(st.sampled_from(NORMS)),
        draw(RADII),
        draw(st.sampled_from([math.inf, 0.5, 1e-9, 0.0])),
        draw(st.sampled_from(["clamp", "inside"])),
    )
    pixel = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
    return image, threat, pixel


CORNER = torch.tensor([[0.0, 0.25], [0.75, 1.0]], dtype=torch.float64)[None, None]


@example((CORNER, Threat(2.0, 0.5), (0, 0)))  # D = 0 ...
@example((CORNER * (1 - 2**-53), Threat(2.0, 0.5), (0, 0)))  # ... up to rounding
@given(hostile())
def test_bounds_are_exact_on_degenerate_images(
    case: tuple[Tensor, Threat, tuple[int, int]],
) -> None:
    images, threat, pixel = case
    assert_exact(pixel_bounds(images, threat), images, threat, [pixel])


# Where the bounds are reached


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.0, 0.3, 1.0, 1.7])
@pytest.mark.parametrize(
    ("gamma", "border"), [(math.inf, "clamp"), (math.inf, "inside"), (0.3, "inside")]
)
def test_displacements_reach_the_bounds_in_a_field_of_the_threat(
    norm: float, delta: float, gamma: float, border: Border
) -> None:
    threat = Threat(norm, delta, gamma, border)
    images = picture("quantised", 2, 2, 3, seed=5)
    box, *reached = pixel_bounds(images, threat, return_displacements=True)
    assert_same(box, pixel_bounds(images, threat))
    region = threat.region((2, 3))
    for end, displacements in zip((box.lower, box.upper), reached, strict=True):
        assert displacements.shape == (*images.shape, 2)
        assert displacements.dtype == torch.float64
        for c, i, j in itertools.product(range(2), range(2), range(3)):
            # The field that moves every pixel like this one, as far as its own region allows.
            field = displacements[0, c, i, j].expand(1, 2, 3, 2)
            field = torch.clamp(field, region.lower, region.upper)
            assert bool(threat.contains(field)), (threat, c, i, j)
            got = value(images[0, c].numpy(), i, j, *field[0, i, j].tolist())
            assert abs(got - Fraction(end[0, c, i, j].item())) <= TIGHT
            assert warp(images, field)[0, c, i, j].item() == pytest.approx(float(got), abs=WARP)


# Members never leave the bounds


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.3, 1.0, 1.5, 2.6])
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_dense_translations_stay_within(norm: float, delta: float, border: Border) -> None:
    threat = Threat(norm, delta, border=border)
    images = picture("random", 2, 5, 4, seed=2)
    box = pixel_bounds(images, threat)
    points = dense_samples(norm, delta, 400, np.random.default_rng(0))
    fields = torch.from_numpy(points)[:, None, None, :].expand(-1, 5, 4, -1)
    region = threat.region((5, 4))
    bent = warp(images, torch.clamp(fields, region.lower, region.upper))
    assert bool((bent >= box.lower - WARP).all()) and bool((bent <= box.upper + WARP).all())


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [math.inf, 0.4, 0.0])
@pytest.mark.parametrize("border", ["clamp", "inside"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sampled_fields_stay_within(
    norm: float, gamma: float, border: Border, dtype: torch.dtype
) -> None:
    threat = Threat(norm, 1.2, gamma, border)
    images = picture("real", 3, 6, 5).to(dtype)
    box = pixel_bounds(images, threat)
    fields = threat.sample((6, 5), 100, generator=draw(0), dtype=dtype).to(torch.float64)
    bent = warp(images.to(torch.float64), fields)
    assert bool((bent >= box.lower - WARP).all()) and bool((bent <= box.upper + WARP).all())


# Symmetries and order


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.4, 1.0, 2.3])
@pytest.mark.parametrize(("gamma", "border"), [(math.inf, "clamp"), (0.3, "inside")])
@pytest.mark.parametrize("symmetry", ["rows", "columns", "transpose"])
def test_symmetries_of_the_image_are_those_of_its_bounds(
    norm: float, delta: float, gamma: float, border: Border, symmetry: str
) -> None:
    images, threat = picture("random", 2, 4, 6), Threat(norm, delta, gamma, border)

    def turned(x: Tensor) -> Tensor:
        return x.mT if symmetry == "transpose" else x.flip(2 if symmetry == "rows" else 3)

    box = pixel_bounds(images, threat)
    assert_same(
        pixel_bounds(turned(images), threat), Interval(turned(box.lower), turned(box.upper)), 1e-12
    )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_larger_delta_means_wider_bounds(norm: float, border: Border) -> None:
    images = picture("random", 1, 6, 5)
    boxes = [pixel_bounds(images, Threat(norm, delta, border=border)) for delta in DELTAS]
    for narrow, wide in itertools.pairwise(boxes):
        assert bool((wide.lower <= narrow.lower + 1e-12).all())
        assert bool((wide.upper >= narrow.upper - 1e-12).all())
        assert bool((wide.width > narrow.width + 1e-6).any())


@pytest.mark.parametrize("delta", DELTAS[1:])
def test_norms_are_nested(delta: float) -> None:
    images = picture("random", 1, 6, 5)
    boxes = [pixel_bounds(images, Threat(norm, delta)) for norm in NORMS]
    for narrow, wide in itertools.pairwise(boxes):
        assert bool((wide.lower <= narrow.lower + 1e-11).all())
        assert bool((wide.upper >= narrow.upper - 1e-11).all())
        assert bool((wide.width > narrow.width + 1e-6).any())


@pytest.mark.parametrize("norm", NORMS)
def test_brighter_images_have_brighter_bounds(norm: float) -> None:
    images, threat = picture("random", 1, 5, 4) / 2, Threat(norm, 1.3)
    box = pixel_bounds(images, threat)
    assert_same(
        pixel_bounds(images + 0.25, threat), Interval(box.lower + 0.25, box.upper + 0.25), 1e-12
    )


@pytest.mark.parametrize("norm", NORMS)
def test_negatives_swap_the_ends(norm: float) -> None:
    images, threat = picture("random", 1, 5, 4), Threat(norm, 1.3)
    box = pixel_bounds(images, threat)
    assert_same(pixel_bounds(1 - images, threat), Interval(1 - box.upper, 1 - box.lower), 1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [0.0, 1e-9, 0.1, 3.0])
def test_a_single_pixel_does_not_feel_gamma(norm: float, gamma: float) -> None:
    images = picture("random", 1, 5, 4)
    assert_same(
        pixel_bounds(images, Threat(norm, 1.3, gamma)), pixel_bounds(images, Threat(norm, 1.3))
    )


# Batches


@pytest.mark.parametrize("norm", NORMS)
def test_images_do_not_depend_on_their_batch(norm: float, monkeypatch: pytest.MonkeyPatch) -> None:
    images, threat = picture("random", 1, 4, 5, batch=3), Threat(norm, 1.3, border="inside")
    whole, *reached = pixel_bounds(images, threat, return_displacements=True)
    alone = [pixel_bounds(images[k : k + 1], threat) for k in range(3)]
    assert torch.equal(whole.lower, torch.cat([box.lower for box in alone]))
    assert torch.equal(whole.upper, torch.cat([box.upper for box in alone]))
    monkeypatch.setattr("warpcert.core.memory.free_bytes", lambda _: 1)
    parts, *again = pixel_bounds(images, threat, return_displacements=True)
    assert_same(parts, whole, 1e-12)  # the slack is that of a part
    for one, other in zip(again, reached, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_oracle_and_package_agree_on_a_whole_image() -> None:
    images, threat = picture("quantised", 1, 3, 3), Threat(2.0, 0.8)
    box = pixel_bounds(images, threat)
    for i, j in itertools.product(range(3), range(3)):
        least, most = true_bounds(images[0, 0], threat, i, j)
        assert box.lower[0, 0, i, j].item() == pytest.approx(float(least[0]), abs=1e-12)
        assert box.upper[0, 0, i, j].item() == pytest.approx(float(most[0]), abs=1e-12)
