"""project: always a member, members untouched, and the nearest one where that is promised."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from tests.flow.agree import NORMS, Border
from tests.flow.pictures import draw
from tests.oracle import nearest_member_linf
from warpcert import Threat
from warpcert.flow.project import smooth

DOUBLE = torch.float64
TYPES = (torch.float32, DOUBLE)
GAMMAS = (0.0, 1e-9, 0.01, 0.1, 0.5, 1.0, 10.0, 1e6, 1e17, 1e300, math.inf)


def noise(batch: int, height: int, width: int, seed: int = 0) -> Tensor:
    return torch.randn((batch, height, width, 2), dtype=DOUBLE, generator=draw(seed))


def distance(fields: Tensor, others: Tensor) -> Tensor:
    """In the maximum norm, for each of a batch."""
    return (fields.to(DOUBLE) - others.to(DOUBLE)).abs().amax((1, 2, 3))


# Membership


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("border", ["clamp", "inside"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_the_result_is_a_member(
    norm: float, border: Border, dtype: torch.dtype, gamma: float
) -> None:
    for number, delta in enumerate((0.0, 1e-9, 0.7, 3.7, 1e6)):
        threat = Threat(norm, delta, gamma, border)
        scales = torch.tensor([1e-6, 0.1, 0.9, 1.0, 1.3, 10.0, 1e10], dtype=DOUBLE)
        fields = (noise(7, 4, 5, number) * scales.view(-1, 1, 1, 1) * max(delta, 1e-3)).to(dtype)
        moved = threat.project(fields)
        assert moved.dtype == dtype and moved.shape == fields.shape
        assert bool(threat.contains(moved).all()), threat.excess(moved)
        assert torch.equal(threat.project(moved), moved)


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("border", ["clamp", "inside"])
@pytest.mark.parametrize("gamma", [0.05, 0.3, 0.6])
def test_smoothing_and_shortening_do_not_undo_each_other(
    norm: float, border: Border, gamma: float
) -> None:
    # Ramps and corners of the ball: taking turns does not end, what is left must be scaled away.
    threat = Threat(norm, 0.7, gamma, border)
    sampled = Threat(norm, 1.0, 2 * gamma).sample((6, 5), 60, generator=draw(0))
    fields = torch.cat([sampled, torch.linspace(0, 3, 60).view(-1, 1, 1, 1) * noise(60, 6, 5)])
    assert bool(threat.contains(threat.project(fields)).all())


SIZES = st.integers(1, 5)
LENGTHS = st.one_of(st.sampled_from([0.0, 1e-300, 1e-9, 0.5, 1.0, 1e6]), st.floats(0, 4))
ODD = st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1e300, -1e300, 1e-300])


@given(
    st.sampled_from(NORMS),
    LENGTHS,
    st.one_of(LENGTHS, st.sampled_from([1e300, 1e308, math.inf])),
    st.sampled_from(["clamp", "inside"]),
    st.sampled_from(TYPES),
    st.tuples(SIZES, SIZES),
    st.lists(st.one_of(ODD, st.floats(-4, 4)), min_size=4, max_size=12),
)
@example(2.0, 1.0, 0.1, "clamp", DOUBLE, (1, 5), [0.9, 0.9, -0.9, 0.9])
@example(math.inf, 0.5, 1e308, "clamp", DOUBLE, (1, 3), [1.0, 0.0, 0.0, 0.0])  # 2 gamma overflows
def test_hostile_fields_end_up_as_members(
    norm: float,
    delta: float,
    gamma: float,
    border: Border,
    dtype: torch.dtype,
    shape: tuple[int, int],
    values: list[float],
) -> None:
    threat = Threat(norm, delta, gamma, border)
    cycle = torch.tensor(values, dtype=DOUBLE).clamp(-3e38, 3e38)
    count = 2 * shape[0] * shape[1]
    fields = cycle.repeat(count // len(values) + 1)[:count].view(1, *shape, 2).to(dtype)
    moved = threat.project(fields)
    assert bool(threat.contains(moved).all()), threat.excess(moved)
    assert torch.equal(threat.project(moved), moved)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [math.inf, 0.25])
def test_what_is_not_a_number_counts_as_zero(norm: float, gamma: float) -> None:
    fields = noise(1, 3, 4)
    fields[0, 1, 2, 0] = 0.0
    broken = fields.clone()
    broken[0, 1, 2, 0] = math.nan
    threat = Threat(norm, 0.5, gamma)
    assert torch.equal(threat.project(broken), threat.project(fields))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("border", ["clamp", "inside"])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.5, math.inf])
@pytest.mark.parametrize("dtype", TYPES)
def test_members_are_returned_bit_for_bit(
    norm: float, border: Border, gamma: float, dtype: torch.dtype
) -> None:
    threat = Threat(norm, 0.8, gamma, border)
    members = threat.sample((4, 5), 40, generator=draw(0), dtype=dtype)
    assert torch.equal(threat.project(members), members)
    mixed = torch.cat([members, (3 * noise(2, 4, 5)).to(dtype)])
    assert torch.equal(threat.project(mixed)[:40], members)


# Nearness


@pytest.mark.parametrize("border", ["clamp", "inside"])
@pytest.mark.parametrize("gamma", [gamma for gamma in GAMMAS if gamma < 1e300] + [math.inf])
def test_no_member_is_nearer_for_norm_inf(border: Border, gamma: float) -> None:
    for number, delta in enumerate((0.0, 0.3, 1.0, 2.5)):
        threat = Threat(math.inf, delta, gamma, border)
        fields = noise(1, 3, 4, number) * (0.2, 0.5, 1.0, 3.0)[number]
        region = threat.region((3, 4))
        least = nearest_member_linf(
            fields[0].numpy(), gamma, region.lower.numpy(), region.upper.numpy()
        )
        assert distance(threat.project(fields), fields).item() == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("border", ["clamp", "inside"])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.5, math.inf])
def test_float32_costs_little_more(border: Border, gamma: float) -> None:
    threat = Threat(math.inf, 0.7, gamma, border)
    fields = noise(8, 4, 5).to(torch.float32)
    found, best = threat.project(fields), threat.project(fields.to(DOUBLE))
    assert bool((distance(found, fields) <= distance(best, fields) + 1e-6).all())


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_pixels_just_outside_go_to_the_nearest_point_of_the_ball(norm: float) -> None:
    threat = Threat(norm, 0.7)
    fields = noise(1, 6, 6).clamp(-0.7, 0.7)
    moved = threat.project(fields)
    angles = torch.linspace(0, 2 * math.pi, 20001, dtype=DOUBLE)
    circle = torch.stack([torch.cos(angles), torch.sin(angles)], dim=-1)
    circle = 0.7 * circle / torch.linalg.vector_norm(circle, ord=norm, dim=-1, keepdim=True)
    for here, there in zip(fields.view(-1, 2), moved.view(-1, 2), strict=True):
        if torch.linalg.vector_norm(here, ord=norm) <= 0.7:
            torch.testing.assert_close(there, here, rtol=0, atol=1e-15)
        else:
            best = torch.linalg.vector_norm(circle - here, dim=-1).min()
            assert torch.linalg.vector_norm(there - here) <= best + 1e-12


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("border", ["clamp", "inside"])
@pytest.mark.parametrize("gamma", [0.0, 0.02, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("size", [1e-1, 1e-4, 1e-8])
def test_fields_near_the_threat_hardly_move(
    norm: float, border: Border, gamma: float, size: float
) -> None:
    threat = Threat(norm, 0.7, gamma, border)
    members = threat.sample((6, 5), 60, generator=draw(1))
    fields = members + size * (2 * torch.rand(members.shape, dtype=DOUBLE, generator=draw(2)) - 1)
    assert bool((distance(threat.project(fields), fields) <= 2 * size).all())


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.3])
def test_far_fields_move_little_further_than_they_must(norm: float, gamma: float) -> None:
    # Every member for norm 1 or 2 is one for norm inf: that distance cannot be avoided.
    threat, wider = Threat(norm, 0.7, gamma), Threat(math.inf, 0.7, gamma)
    fields = noise(20, 4, 4) * torch.logspace(-1, 0.5, 20, dtype=DOUBLE).view(-1, 1, 1, 1)
    least = distance(wider.project(fields), fields)
    assert bool((distance(threat.project(fields), fields) <= 3 * least + 1e-12).all())


# Smoothing alone


def test_a_peak_is_spread_evenly() -> None:
    field = torch.zeros((1, 1, 4, 2), dtype=DOUBLE)
    field[0, 0, 1, 0] = 1.0
    assert smooth(field, 0.25)[0, 0, :, 0].tolist() == [0.375, 0.625, 0.375, 0.25]
    assert smooth(field, 0.25)[..., 1].abs().max() == 0


@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.4])
def test_smoothing_is_the_nearest_smooth_field(gamma: float) -> None:
    fields = noise(3, 4, 5)
    result = smooth(fields, gamma)
    for axis in (1, 2):
        assert result.diff(dim=axis).abs().max() <= gamma + 1e-14
    for k in range(3):
        least = nearest_member_linf(fields[k].numpy(), gamma, -math.inf, math.inf)
        assert distance(result, fields)[k].item() == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("gamma", [1.0, 10.0, 1e6, 1e17, 1e308])
def test_smooth_fields_stay_as_they_are(gamma: float) -> None:
    fields = noise(3, 4, 5).clamp(-0.5, 0.5)
    torch.testing.assert_close(smooth(fields, gamma), fields, rtol=0, atol=1e-9)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [1e6, 1e17])
def test_a_gamma_beyond_reach_counts_as_none(norm: float, gamma: float) -> None:
    fields = noise(3, 4, 5)
    found, free = (Threat(norm, 0.5, g).project(fields) for g in (gamma, math.inf))
    torch.testing.assert_close(found, free, rtol=0, atol=1e-9)


def test_each_field_may_have_its_own_gamma() -> None:
    fields, gammas = noise(2, 3, 4), torch.tensor([0.1, 0.4], dtype=DOUBLE).view(2, 1, 1, 1)
    both = smooth(fields, gammas)
    assert torch.equal(both[:1], smooth(fields[:1], 0.1))
    assert torch.equal(both[1:], smooth(fields[1:], 0.4))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("border", ["clamp", "inside"])
@pytest.mark.parametrize("gamma", [0.0, 1e-3, 0.2, 1.0])
@pytest.mark.parametrize("dtype", TYPES)
def test_rounding_that_adds_up_over_a_large_image_stays_inside(
    norm: float, border: Border, gamma: float, dtype: torch.dtype
) -> None:
    for delta in (0.3, 1.3):
        threat = Threat(norm, delta, gamma, border)
        assert bool(threat.contains(threat.project(noise(4, 40, 64).to(dtype))).all())
        drawn = threat.sample((64, 40), 8, generator=draw(0), dtype=dtype)
        assert bool(threat.contains(drawn).all())
