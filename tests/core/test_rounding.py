"""rounding: every tolerance covers what it is said to cover."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.flow.pictures import draw
from warpcert.core import rounding

DOUBLE = torch.float64
SPECIAL = [
    0.0,
    1.0,
    -1.0,
    0.1,
    -0.1,
    1 / 3,
    2 / 3,
    1e-45,
    7e-46,
    1e-300,
    5e-324,
    3.5e38,
    1e39,
    1e308,
]
SPECIAL += [1 + 2**-24, 1 + 2**-23, 1 - 2**-25, 1 + 2**-24 + 2**-50, 16777217.0, 2**-126, 2**-150]


def below(x: float, dtype: torch.dtype = torch.float32) -> float:
    return float(rounding.down(torch.tensor([x], dtype=DOUBLE), dtype))


def next_above(y: float) -> float:
    single = torch.tensor(y, dtype=torch.float32)
    return float(torch.nextafter(single, torch.tensor(math.inf)))


@pytest.mark.parametrize("x", [*SPECIAL, *(-x for x in SPECIAL)])
def test_down_is_the_next_number_below(x: float) -> None:
    y = below(x)
    assert y <= x
    assert next_above(y) > x or y == x
    assert below(x, DOUBLE) == x


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_down_and_up_enclose(x: float) -> None:
    high = float(rounding.up(torch.tensor([x], dtype=DOUBLE), torch.float32))
    assert below(x) <= x <= high
    assert high == below(x) or next_above(below(x)) == high
    assert high == -below(-x)


def test_down_goes_down_about_half_of_the_time() -> None:
    # A plain conversion would be above for one number in two.
    x = torch.rand(1000, dtype=DOUBLE, generator=draw(0))
    assert 300 < int((x.to(torch.float32).to(DOUBLE) > x).sum()) < 700
    assert bool((rounding.down(x, torch.float32).to(DOUBLE) <= x).all())
    assert bool((rounding.up(x, torch.float32).to(DOUBLE) >= x).all())


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_what_is_no_number_bounds_nothing(dtype: torch.dtype) -> None:
    nothing = torch.tensor([math.nan], dtype=DOUBLE)
    assert rounding.down(nothing, dtype).item() == -math.inf
    assert rounding.up(nothing, dtype).item() == math.inf


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_infinite_bounds_stay(dtype: torch.dtype) -> None:
    ends = torch.tensor([-math.inf, math.inf], dtype=DOUBLE)
    assert rounding.down(ends, dtype).tolist() == [-math.inf, math.inf]
    assert rounding.up(ends, dtype).tolist() == [-math.inf, math.inf]


def test_float32_numbers_are_kept() -> None:
    x = torch.randn(100, generator=draw(0))
    for function in (rounding.down, rounding.up):
        assert torch.equal(function(x.to(DOUBLE), torch.float32), x)


def test_the_unit_is_half_a_step_at_one() -> None:
    assert math.nextafter(1.0, 2.0) == 1.0 + 2 * rounding.UNIT
    assert 1.0 + rounding.UNIT == 1.0


@pytest.mark.parametrize("count", [1, 2, 10, 300])
def test_summation_covers_any_order(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(20):
        a, b = rng.normal(size=(2, count)) * 10.0 ** rng.integers(-6, 7, (2, count))
        exact = sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(0))
        size = float(np.abs(a * b).sum())
        products = torch.from_numpy(a) * torch.from_numpy(b)
        sums = [products.sum().item(), float(np.dot(a, b)), float(np.cumsum((a * b)[::-1])[-1])]
        for total in sums:
            assert abs(Fraction(total) - exact) <= Fraction(rounding.summation(count) * size)


def test_summation_is_small_and_grows() -> None:
    assert rounding.summation(1) >= 2 * rounding.UNIT
    assert rounding.summation(10**6) < 1e-9
    assert all(rounding.summation(n + 1) > rounding.summation(n) for n in (1, 10, 100))


@pytest.mark.parametrize("norm", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("delta", [0.1, 1.0, 3.7])
def test_geometry_is_small(norm: float, delta: float) -> None:
    # `tests/flow/test_minimum.py` shows that it is large enough.
    assert 72 * rounding.UNIT < rounding.geometry(norm, delta) < 1e-11


@pytest.mark.parametrize("delta", [0.1, 0.5, 1.0, 3.7, 10.0])
def test_geometry_covers_wrong_signs_on_an_arc(delta: float) -> None:
    # |p| + |q| + |d| <= (8 delta + 20 delta^2) m: noise times the arc's length at most.
    size = torch.tensor([(8 * delta + 20 * delta**2) / 3], dtype=DOUBLE)
    noise = rounding.sign_noise(size, size, size).item()
    assert rounding.geometry(2.0, delta) >= rounding.geometry(math.inf, delta) + noise * math.pi / 2


def test_geometry_grows_with_delta() -> None:
    for norm in (1.0, 2.0, math.inf):
        assert rounding.geometry(norm, 2.0) > rounding.geometry(norm, 1.0)


def test_membership_is_far_below_what_matters() -> None:
    assert rounding.membership(0.0) == 0
    assert 4 * rounding.UNIT <= rounding.membership(1.0) <= 1e-15


def test_sign_noise_covers_the_derivatives() -> None:
    # Evaluate q - (2p + 4d) z + (4d - 2p) z^3 - q z^4 in floats and in rationals.
    p, q, d = torch.randn((3, 200), dtype=DOUBLE, generator=draw(0))
    z = torch.rand(200, dtype=DOUBLE, generator=draw(1)) - 0.5
    slope = q + z * (-2 * p - 4 * d + z * z * (4 * d - 2 * p - q * z))
    noise = rounding.sign_noise(p, q, d)
    for k in range(200):
        P, Q, D, Z = (Fraction(x[k].item()) for x in (p, q, d, z))
        exact = Q - (2 * P + 4 * D) * Z + (4 * D - 2 * P) * Z**3 - Q * Z**4
        assert abs(Fraction(slope[k].item()) - exact) <= Fraction(noise[k].item())


def test_bisection_ends_where_the_curvature_no_longer_counts() -> None:
    # phi = 2 arctan z: a bracket narrower than 2^-n in z is narrower than 2^(1 - n) in phi.
    width = 2.0 ** (1 - rounding.BISECTIONS)
    assert (width / 2) ** 2 / 2 <= rounding.UNIT


@pytest.mark.parametrize("delta", [0.1, 1.0, 3.7])
@pytest.mark.parametrize("gamma", [0.05, 0.3, 1.0])
def test_storable_fields_are_members_once_stored(delta: float, gamma: float) -> None:
    smaller, slower = rounding.storable(delta, gamma, torch.float32)
    field = smaller * (2 * torch.rand(2000, dtype=DOUBLE, generator=draw(0)) - 1)
    other = (field - slower).clamp(min=-smaller)
    stored, beside = (x.to(torch.float32).to(DOUBLE) for x in (field, other))
    assert bool((stored.abs() <= delta).all())
    assert bool((stored - beside <= gamma).all())
    assert delta * (1 - 1e-6) <= smaller and gamma - 1e-6 * delta <= slower


def test_float64_fields_are_stored_as_they_are() -> None:
    assert rounding.storable(0.7, 0.1, DOUBLE) == (0.7, 0.1)


@pytest.mark.parametrize("gamma", [0.0, 1e-300, math.inf])
def test_aims_never_leave_the_possible(gamma: float) -> None:
    _, slower = rounding.storable(0.7, gamma, torch.float32)
    assert slower == (gamma if gamma == math.inf else 0)
    aim = rounding.smoothable(0.7, gamma, 10)
    assert aim == (gamma if gamma == math.inf else 0)


def test_smoothing_aims_a_little_lower() -> None:
    # `tests/flow/test_project.py` shows that it is enough.
    assert 0.1 - 1e-13 < rounding.smoothable(0.7, 0.1, 60) < 0.1 - 60 * 0.1 * rounding.UNIT
