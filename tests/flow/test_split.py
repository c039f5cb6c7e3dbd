"""Parts of a threat: together they hold every field, and each is as small as gamma allows."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.flow.pictures import draw, picture
from warpcert import DeformedImage, Threat
from warpcert.flow.split import Parts, confine, cutting_point, split, whole

SHAPE = (4, 5)
THREATS = st.builds(
    Threat,
    st.sampled_from([1, 2, "inf"]),
    st.sampled_from([0.3, 0.5, 1.3, 2.6]),
    st.sampled_from([0.0, 0.001, 0.1, 1 / 3, math.inf]),
    st.sampled_from(["clamp", "inside"]),
)


def cut(threat: Threat, seed: int, times: int) -> Parts:
    """The whole threat cut several times, at random pixels and along random axes."""
    parts, random = whole(threat, SHAPE), draw(seed)
    for _ in range(times):
        count = len(parts.lower)
        rows = torch.randint(0, SHAPE[0], (count, 1), generator=random)
        columns = torch.randint(0, SHAPE[1], (count, 1), generator=random)
        axes = torch.rand((count, 2), generator=random) < 0.7
        parts = split(threat, parts.lower, parts.upper, torch.cat([rows, columns], 1), axes)
    return parts


@given(threat=THREATS, seed=st.integers(0, 999), times=st.integers(1, 3))
def test_every_field_is_in_a_part(threat: Threat, seed: int, times: int) -> None:
    """Extreme fields are at the corners of cells, and must be in one up to the last bit."""
    parts = cut(threat, seed, times)
    fields = threat.sample(SHAPE, 60, generator=draw(seed))
    inside = (parts.lower <= fields[:, None]) & (fields[:, None] <= parts.upper)
    # A sampled field may leave the threat by rounding, see `Threat.contains`.
    near = 8 * 2.0**-53 * threat.delta
    close = (parts.lower - near <= fields[:, None]) & (fields[:, None] <= parts.upper + near)
    assert bool(close.flatten(2).all(2).any(1).all())
    assert float(inside.flatten(2).all(2).any(1).double().mean()) > 0.9


@given(threat=THREATS, seed=st.integers(0, 999))
def test_parts_are_regions_that_hold_fields(threat: Threat, seed: int) -> None:
    parts = cut(threat, seed, 2)
    count = len(parts.lower)
    images = picture("random", 1, *SHAPE, seed=seed).expand(count, -1, -1, -1)
    region = parts.region(threat)
    inputs = DeformedImage(images, threat, region=region)
    assert bool((inputs.box.lower <= inputs.box.upper).all())
    # The field nearest to none at all is a member of every part: a clamp between ends that are
    # themselves gamma apart at most.
    plain = torch.clamp(torch.zeros_like(parts.lower), parts.lower, parts.upper)
    assert bool((threat.excess(plain) <= 1e-11).all())


def test_what_one_pixel_says_about_the_others() -> None:
    threat = Threat("inf", 0.5, 0.1)
    start = whole(threat, (1, 4))
    parts = split(
        threat, start.lower, start.upper, torch.tensor([[0, 1]]), torch.tensor([[True, False]])
    )
    assert len(parts.lower) == 2 and parts.parents.tolist() == [0, 0]
    for low, high, sign in zip(parts.lower, parts.upper, (-1, 1), strict=True):
        near, far = (0.0, 0.5)
        wanted = [(near - 0.1 * d, far) for d in (1, 0, 1, 2)]
        ends = [(x, y) if sign > 0 else (-y, -x) for x, y in wanted]
        assert low[0, :, 0].tolist() == pytest.approx([e[0] for e in ends], abs=1e-15)
        assert high[0, :, 0].tolist() == pytest.approx([e[1] for e in ends], abs=1e-15)
        assert bool((low[..., 1] == -0.5).all() and (high[..., 1] == 0.5).all())
    # The cells share their edge, exactly; what gamma adds is rounded outwards.
    assert float(parts.upper[0, 0, 1, 0]) == float(parts.lower[1, 0, 1, 0]) == 0.0
    assert float(parts.upper[0, 0, 3, 0]) >= 2 * 0.1


def test_free_pixels_know_nothing_of_each_other() -> None:
    threat = Threat("inf", 0.5)
    start = whole(threat, (2, 2))
    parts = split(
        threat, start.lower, start.upper, torch.tensor([[1, 0]]), torch.tensor([[True, True]])
    )
    assert len(parts.lower) == 4
    others = [(0, 0), (0, 1), (1, 1)]
    for row, column in others:
        assert bool((parts.lower[:, row, column] == -0.5).all())
        assert bool((parts.upper[:, row, column] == 0.5).all())


def test_a_translation_is_cut_everywhere_at_once() -> None:
    threat = Threat("inf", 0.5, 0.0)
    start = whole(threat, (3, 3))
    parts = split(
        threat, start.lower, start.upper, torch.tensor([[1, 1]]), torch.tensor([[True, True]])
    )
    assert len(parts.lower) == 4
    widths = parts.upper - parts.lower
    assert bool((widths <= 0.5 + 1e-15).all())


def test_cells_outside_of_the_ball_are_left_out() -> None:
    threat = Threat(1, 1.0, 0.1)
    start = whole(threat, (1, 1))
    pixel, both = torch.tensor([[0, 0]]), torch.tensor([[True, True]])
    begin = torch.tensor([[0.6, 0.5]], dtype=torch.float64)
    end = torch.tensor([[1.0, 1.0]], dtype=torch.float64)
    assert not bool(confine(threat, start.lower, start.upper, pixel, begin, end).nonempty)
    begin = torch.tensor([[0.5, 0.5]], dtype=torch.float64)
    touching = confine(threat, start.lower, start.upper, pixel, begin, end)
    assert bool(touching.nonempty)  # in one point
    assert len(split(threat, start.lower, start.upper, pixel, both).lower) == 4


def test_cells_are_cut_at_grid_lines_or_in_the_middle() -> None:
    low = torch.tensor([-0.5, 0.0, -1.5, 0.25, -0.1, 0.0], dtype=torch.float64)
    high = torch.tensor([0.5, 0.5, 0.5, 2.0, 1.5, 0.0], dtype=torch.float64)
    assert cutting_point(low, high).tolist() == [0.0, 0.25, 0.0, 1.0, 1.0, 0.0]


def test_a_pixel_that_cannot_move_is_not_cut() -> None:
    threat = Threat("inf", 0.0)
    start = whole(threat, (2, 2))
    parts = split(
        threat, start.lower, start.upper, torch.tensor([[0, 0]]), torch.tensor([[True, True]])
    )
    assert len(parts.lower) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@given(threat=THREATS, seed=st.integers(0, 99))
@settings(max_examples=15)
def test_searches_keep_to_a_part(dtype: torch.dtype, threat: Threat, seed: int) -> None:
    """What is sampled, projected or minimised in a part belongs to it and to the threat."""
    parts = cut(threat, seed, 2)
    count = min(6, len(parts.lower))
    some = Parts(parts.lower[:count], parts.upper[:count], parts.parents[:count])
    images = picture("random", 1, *SHAPE, seed=seed).to(dtype).expand(count, -1, -1, -1)
    inputs = DeformedImage(images, threat, region=some.region(threat))
    wild = torch.randn((count, *SHAPE, 2), generator=draw(seed), dtype=dtype)
    brought = inputs.project(wild)
    assert bool(inputs.contains(brought).all() and threat.contains(brought).all())
    again = inputs.project(brought)
    assert bool((again == brought).all())
    pool = inputs.sample(7, draw(seed))
    assert pool.shape == (count, 7, *SHAPE, 2)
    for fields in pool.unbind(1):
        assert bool(inputs.contains(fields).all())
    assert bool(inputs.contains(inputs.minimiser(torch.randn_like(images), 5)).all())
    low, high = some.lower.to(dtype), some.upper.to(dtype)
    far = inputs.steepest(wild)
    assert bool(((low <= far) & (far <= high)).all())
