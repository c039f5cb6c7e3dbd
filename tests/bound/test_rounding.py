"""Bounds against rational arithmetic: not one unit in the last place is forgiven."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from tests.bound.exactly import excess
from tests.bound.problems import DOUBLE, between_points, layered
from warpcert import Box, Network
from warpcert.bound import Alpha, Ascent, Bounder, DeepPoly, IntervalPropagation
from warpcert.core import rounding
from warpcert.net import Step
from warpcert.net.leaky import LeakyRelu
from warpcert.net.scale import Scale

BOUNDERS: dict[str, Bounder] = {
    "interval": IntervalPropagation(),
    "deeppoly": DeepPoly(),
    "deeppoly alone": DeepPoly(intersect=False),
    "alpha": Alpha(Ascent(iterations=1), Ascent(iterations=2)),
}
ROWS = torch.tensor([[[1.0, -1.0], [-1.0, 1.0], [0.3, 0.7]]], dtype=DOUBLE)


@pytest.fixture(params=BOUNDERS)
def bounder(request: pytest.FixtureRequest) -> Bounder:
    return BOUNDERS[request.param]


def drawn(seed: int, scale: float = 1.0, width: float = 0.0) -> tuple[Network, Box]:
    """Random numbers, biases that nearly cancel what is before them, and a box of that width."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=DOUBLE, generator=generator)

    one, two, three = normal(4, 3) * scale, normal(4, 4) * scale, normal(2, 4) * scale
    centre = torch.rand(3, dtype=DOUBLE, generator=generator)
    hidden = torch.relu(one @ centre)
    scores = three @ torch.relu(two @ hidden)
    network = layered(
        (one.tolist(), None), (two.tolist(), None), (three.tolist(), (-scores).tolist())
    )
    upper = centre + width * torch.rand(3, dtype=DOUBLE, generator=generator)
    return network, between_points(centre.tolist(), upper.tolist())


@pytest.mark.parametrize("width", [0.0, 1e-15, 1e-3])
def test_no_bound_exceeds_the_exact_value(bounder: Bounder, width: float) -> None:
    """At margins that are zero but for rounding."""
    for seed in range(6):
        network, box = drawn(seed, width=width)
        assert excess(network, box, ROWS, bounder(network, box, ROWS)) <= 0, seed


@pytest.mark.parametrize("scale", [1e8, 1e-8, 1e60, 1e-60])
def test_at_every_scale(bounder: Bounder, scale: float) -> None:
    for seed in range(3):
        network, box = drawn(seed, scale=scale, width=1e-12)
        assert excess(network, box, ROWS, bounder(network, box, ROWS)) <= 0, seed


def test_large_weights_that_cancel(bounder: Bounder) -> None:
    big = 1e8 + 1 / 3
    network = layered(
        ([[big, -big, 1.0], [-big, big, 1e-9]], [1e-9, -1e-9]),
        ([[big, 1.0], [1.0, -big]], [-0.1, 0.1]),
        ([[1.0, -1.0], [-1.0, 1.0]], None),
    )
    for shift in (0.0, 1e-17, 2.0**-50, 1e-9):
        box = between_points([1 / 3, 1 / 3, 0.1], [1 / 3 + shift, 1 / 3, 0.1 + shift])
        assert excess(network, box, ROWS, bounder(network, box, ROWS)) <= 0, shift


def test_huge_biases(bounder: Bounder) -> None:
    network = layered(
        ([[0.1, 0.2], [0.3, -0.7]], [1e15 / 3, -1e15 / 7]),
        ([[0.3, 0.1], [0.1, 0.3]], [-1e14, -1e14 / 3]),
        ([[1.1, -0.3], [0.7, 0.9]], [1e13 / 3, 0.0]),
    )
    box = between_points([0.1, 0.2], [0.3, 0.9])
    assert excess(network, box, ROWS, bounder(network, box, ROWS)) <= 0


def test_a_margin_that_is_zero_is_not_positive(bounder: Bounder) -> None:
    """Thirty copies of 0.1 x against three times x: equal, up to what 0.1 really is."""
    network = layered(([[0.1] * 30, [1 / 3] * 9 + [0.0] * 21], None))
    exact = 30 * Fraction(0.1) - 9 * Fraction(1 / 3)
    box = between_points([1.0] * 30, [1.0] * 30)
    found = bounder(network, box, ROWS[:, :2]).margins[0]
    assert Fraction(float(found[0])) <= exact and Fraction(float(found[1])) <= -exact
    assert abs(float(found[0])) < 1e-12


@pytest.mark.parametrize("slope", [0.01, 0.1, 1 / 3, 0.7, 1.3])
def test_slopes_found_in_float32_are_made_sound(bounder: Bounder, slope: float) -> None:
    """The nearest float32 number may lie beyond the hinge's own slope."""
    network = layered(
        ([[1.0, 0.3], [-0.7, 1.0]], None),
        ([[1.0, 0.0], [0.3, -1.0]], None),
        activation=LeakyRelu(slope),
    )
    for lower, upper in (([-1.0, -0.3], [0.1, 0.2]), ([-0.1, -0.2], [0.9, 0.7])):
        box = between_points(lower, upper)
        assert excess(network, box, ROWS, bounder(network, box, ROWS)) <= 0


UNDERFLOWS = {
    "products that vanish": (
        ([[1e-200, 0.0], [0.0, 1.0]], None),
        ([[1e-200, 0.0], [0.0, 1.0]], None),
        ([[0.0, 1e-101], [1e300, 0.0]], None),
    ),
    "products that lose digits": (
        ([[1e-160, 0.0], [0.0, 1.0]], None),
        ([[1.2345e-162, 0.0], [0.0, 1.0]], None),
        ([[0.0, 1e-30], [1e300, 1e-30]], None),
    ),
    "a row that vanishes before a huge value": (
        ([[1e300, 0.0], [0.0, 1.0]], None),
        ([[1e-200, 0.0], [0.0, 1.0]], None),
        ([[1e-200, 0.0], [0.0, 1e-101]], None),
    ),
    "denormal weights": (
        ([[5e-324, 1e-310], [1e-310, -5e-324]], None),
        ([[0.3, 0.7], [0.7, 0.4]], None),
        ([[0.3, 0.1], [-0.3, 0.1]], None),
    ),
    "denormal biases": (
        ([[0.3, 0.0], [0.0, 0.3]], [5e-324, 1e-310]),
        ([[1e-308, 0.1], [0.1, 1e-308]], [-5e-324, 5e-324]),
        ([[0.3, 0.1], [-0.3, 0.1]], [5e-324, -5e-324]),
    ),
    "a chord that vanishes": (
        ([[1.0, 0.0], [0.0, 1.0]], [-1.0 + 2.0**-53, 1e-200]),
        ([[-1.0, 0.0], [1.0, -1.0]], [1e-200, 1e-200]),
        ([[1e300, 1e-90], [-1e300, 1e300]], None),
    ),
    "a row that vanishes": (
        ([[1e-30, 0.0], [0.0, 1.0]], None),
        ([[1e-300, 0.0], [0.0, 1.0]], [0.0, -1.0]),
        ([[1e-300, 0.0], [1e-300, 1.0]], None),
    ),
}


@pytest.mark.parametrize("name", UNDERFLOWS)
def test_underflow_is_paid_for(bounder: Bounder, name: str) -> None:
    network = layered(*UNDERFLOWS[name])
    for ends in (([1.0] * 2, [1.0] * 2), ([0.1, 0.3], [0.7, 0.3]), ([1e-300] * 2, [1.0] * 2)):
        box = between_points(*ends)
        assert excess(network, box, ROWS, bounder(network, box, ROWS)) <= 0, ends


OVERFLOWS = {
    "in a product": (
        ([[1e200, 0.0], [0.0, 1.0]], None),
        ([[1e200, 0.0], [0.0, 1.0]], None),
        ([[1.0, 0.0], [0.0, 1.0]], None),
    ),
    "in a sum": (([[1e308, 1e308], [1.0, 1.0]], None), ([[1.0, 0.0], [0.0, 1.0]], None)),
    "in a sum that cancels": (
        ([[1e308, 1e308], [1e308, 1e308]], None),
        ([[1.0, -1.0], [0.0, 1.0]], None),
        ([[0.0, 1.0], [1.0, 0.0]], None),
    ),
    "in a bias": (([[1.0, 0.0], [0.0, 1.0]], [1.7e308, 0.0]), ([[3.0, 0.0], [0.0, 1.0]], None)),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_what_overflows_is_not_known(bounder: Bounder, name: str) -> None:
    network = layered(*OVERFLOWS[name])
    for box in (between_points([0.9, 1.0], [1.0, 1.0]), between_points([-1.0, 1.0], [1.0, 1.0])):
        found = bounder(network, box, ROWS)
        assert not bool(torch.isnan(found.margins).any())
        assert excess(network, box, ROWS, found) <= 0
        assert bool((found.margins[0, :2] == -math.inf).any())


def test_rows_that_overflow_before_a_tiny_image(bounder: Bounder) -> None:
    """The scores are moderate, but no row of float64 says so."""
    tail = layered(([[1e200, 0.0], [0.0, 1.0]], None), ([[1.0, 0.0], [0.0, 1.0]], None)).steps
    weight = torch.tensor([[[1e200, 1.0]]], dtype=DOUBLE)
    first = Step(Scale(weight, None, (1, 1, 2)), (0,), (1, 1, 2))
    later = (replace(step, inputs=tuple(k + 1 for k in step.inputs)) for step in tail)
    network = Network((1, 1, 2), (first, *later))
    for low in (1e-300, -1e-300):
        box = between_points([low, 1.0], [1e-300, 1.0])
        found = bounder(network, box, ROWS).margins[0].tolist()
        most = Fraction(1e200) ** 2 * Fraction(1e-300)  # of the first score; the second is 1
        least = most if low > 0 else Fraction(0)
        for bound, exact in zip(found[:2], (least - 1, 1 - most), strict=True):
            assert bound == -math.inf or Fraction(bound) <= exact


def test_numbers_beyond_float32_are_searched_as_far_as_they_go(bounder: Bounder) -> None:
    """Slopes are searched for in float32, where these rows are infinite."""
    network = layered(
        ([[1e20, 0.3e20], [0.5, 1.0]], None),
        ([[-1e20, 1.0], [1e20, 1.0]], [1e39, 0.0]),
        ([[0.0, 1.0], [1.0, 0.0]], None),
    )
    box = between_points([-0.9, -1.0], [1.0, 1.0])
    found = bounder(network, box, ROWS)
    assert bool(torch.isfinite(found.margins).all())
    assert excess(network, box, ROWS, found) <= 0


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_weights_that_are_no_numbers_prove_nothing(
    bounder: Bounder, number: float, place: int
) -> None:
    """`Network.from_module` refuses them; who builds the steps by hand is not certified either."""
    weights = [[[1.0, 0.5], [0.0, 1.0]] for _ in range(3)]
    weights[place][0][0] = number
    network = layered(*((weight, None) for weight in weights))
    found = bounder(network, between_points([0.5, 0.5], [1.0, 1.0]), ROWS).margins
    assert bool((found[:, :2] == -math.inf).all())


# The tests above have teeth


def balanced(seed: int) -> tuple[Network, Box, Tensor]:
    """A matrix at the origin, where a sum of thirty products is zero but for rounding."""
    generator = torch.Generator().manual_seed(seed)
    row, bias = torch.randn((2, 30), dtype=DOUBLE, generator=generator)
    bias[0] = -(row[1:] @ bias[1:]) / row[0]
    network = layered((torch.ones((30, 2)).tolist(), bias.tolist()))
    return network, between_points([0.0, 0.0], [0.0, 0.0]), torch.stack([row, -row])[None]


def test_a_sum_of_many_products(bounder: Bounder) -> None:
    for seed in range(6):
        network, box, rows = balanced(seed)
        assert excess(network, box, rows, bounder(network, box, rows)) <= 0, seed


@pytest.mark.parametrize("name", BOUNDERS)
def test_without_the_rounding_of_back_substitution_bounds_would_be_wrong(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounding, "backward", lambda *_: 0.0)
    problems = [balanced(seed) for seed in range(6)]
    worst = [excess(n, box, rows, BOUNDERS[name](n, box, rows)) for n, box, rows in problems]
    assert max(worst) > 0


@pytest.mark.parametrize("name", ["interval", "deeppoly"])
def test_without_the_rounding_of_intervals_bounds_would_be_wrong(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounding, "affine", lambda *_: 0.0)
    problems = [drawn(seed) for seed in range(6)]
    worst = [excess(n, box, ROWS, BOUNDERS[name](n, box, ROWS)) for n, box in problems]
    assert max(worst) > 0


def test_what_is_taken_off_is_small(bounder: Bounder) -> None:
    for seed in range(3):
        network, box = drawn(seed)
        found = bounder(network, box, ROWS)
        exact = (ROWS @ network(box.box.lower)[..., None]).squeeze(-1)
        assert float((exact - found.margins).abs().max()) < 1e-11
