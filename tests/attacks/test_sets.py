"""What input sets offer to a search: members to try, directions, a test of membership."""

from __future__ import annotations

import math

import pytest
import torch

from tests.attacks.problems import NAMES, THREATS, problem
from warpcert import DeformedImage, Threat
from warpcert.flow.region import Region
from warpcert.flow.steepest import steepest, translations
from warpcert.solve import Polyhedral

DOUBLE = torch.float64


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 2, 4, 30])
def test_samples_are_members(name: str, n: int) -> None:
    inputs = problem(name).inputs
    sample = inputs.sample(n, torch.Generator().manual_seed(0))
    assert sample.shape[:2] == (3, n)
    for k in range(n):
        assert bool(inputs.contains(sample[:, k]).all())
    assert torch.equal(sample[:, 0], inputs.sample(1)[:, 0])


@pytest.mark.parametrize("name", ["box", "2 0.05 clamp"])
def test_samples_are_drawn_from_the_generator_alone(name: str) -> None:
    inputs, before = problem(name).inputs, torch.get_rng_state()
    one, other, third = (
        inputs.sample(20, torch.Generator().manual_seed(seed)) for seed in (3, 3, 4)
    )
    assert torch.equal(one, other) and not torch.equal(one, third)
    assert torch.equal(torch.get_rng_state(), before)
    some = inputs.select(torch.tensor([2, 0])).sample(20, torch.Generator().manual_seed(3))
    assert torch.equal(some, one[[2, 0]])


def test_the_plainest_member_is_the_image_itself() -> None:
    inputs = problem("inf 0.05 clamp").inputs
    assert isinstance(inputs, DeformedImage)
    assert torch.equal(inputs.realise(inputs.sample(1)[:, 0]), inputs.images)


def test_samples_of_a_box_have_its_corners() -> None:
    inputs = problem("box").inputs
    sample = inputs.sample(9)
    assert torch.equal(sample[:, 1], inputs.box.lower)
    assert torch.equal(sample[:, 2], inputs.box.upper)


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_translations_fill_the_ball(norm: float) -> None:
    threat = Threat(norm, 1.5)
    grid = translations(threat, 60)
    assert grid.shape == (25, 2)
    assert grid[0].tolist() == [0.0, 0.0]
    sizes = torch.linalg.vector_norm(grid, ord=norm, dim=1)
    assert float(sizes.max()) == pytest.approx(1.5)
    assert int((sizes > 1.49).sum()) == 16
    assert len(grid.unique(dim=0)) == 25
    for n, count in ((0, 0), (1, 1), (17, 1), (18, 9), (49, 9), (50, 25)):
        assert len(translations(threat, n)) == count


def test_membership_keeps_to_a_region() -> None:
    images = torch.rand((2, 1, 4, 4))
    high = torch.full((2, 1, 4, 4, 2), 0.5, dtype=DOUBLE)
    low = -high.clone()
    low[1] = 0.1
    part = DeformedImage(images, Threat(delta=0.5), region=Region(math.inf, 0.5, low, high))
    none = torch.zeros((2, 4, 4, 2))
    assert part.contains(none).tolist() == [True, False]
    assert part.contains(none + 0.25).tolist() == [True, True]
    assert part.contains(none + 0.51).tolist() == [False, False]


@pytest.mark.parametrize("name", THREATS)
def test_steepest_fields_are_members(name: str) -> None:
    threat = THREATS[name]
    slopes = torch.randn((4, 6, 5, 2), dtype=DOUBLE)
    slopes[1] = slopes[1].abs()
    slopes[2, :3] = -1.0
    slopes[3] = 0.0
    fields = steepest(threat, slopes)
    assert bool((threat.excess(fields) <= 1e-12).all())
    assert bool(((slopes * fields).sum((1, 2, 3)) <= 1e-12).all())


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_steepest_is_lowest_for_free_fields(norm: float) -> None:
    """Over a ball <s, v> is at least minus delta times the dual norm."""
    slopes = torch.randn((2, 6, 5, 2), dtype=DOUBLE)
    slopes[0, 0, 0] = torch.tensor([2.0, -2.0])
    dual = {1: math.inf, 2: 2, math.inf: 1}[norm]
    exact = -1.3 * torch.linalg.vector_norm(slopes, ord=dual, dim=-1).sum((1, 2))
    fields = steepest(Threat(norm, 1.3), slopes)
    torch.testing.assert_close((slopes * fields).sum((1, 2, 3)), exact)


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_steepest_is_lowest_for_translations(norm: float) -> None:
    slopes = torch.randn((2, 6, 5, 2), dtype=DOUBLE)
    dual = {1: math.inf, 2: 2, math.inf: 1}[norm]
    exact = -1.3 * torch.linalg.vector_norm(slopes.sum((1, 2)), ord=dual, dim=-1)
    fields = steepest(Threat(norm, 1.3, 0.0), slopes)
    torch.testing.assert_close((slopes * fields).sum((1, 2, 3)), exact)


@pytest.mark.parametrize("gamma", [0.05, 0.2, 0.7])
def test_steepest_spends_gamma(gamma: float) -> None:
    """On a long row whose slopes change sign once it goes from one end to the other, by gamma."""
    slopes = torch.ones((1, 1, 101, 2), dtype=DOUBLE)
    slopes[:, :, 50:] = -1.0
    threat = Threat(delta=1.0, gamma=gamma)
    fields = steepest(threat, slopes)
    assert float(threat.excess(fields)) <= 1e-12
    steps = fields.diff(dim=2)
    assert float(steps.max()) > 0.8 * gamma
    assert bool((steps >= -1e-12).all())
    assert float(fields[0, 0, 0, 0]) == pytest.approx(-1) and float(fields[0, 0, -1, 1]) > 0.99


@pytest.mark.parametrize("name", NAMES)
def test_minimisers_are_members_and_low(name: str) -> None:
    inputs = problem(name).inputs
    rows = torch.randn((3, 2, 6, 5))
    v = inputs.minimiser(rows, 50)
    assert bool(inputs.contains(v).all())
    reached = (rows * inputs.realise(v)).sum((1, 2, 3))
    bound = inputs.minimise(rows[:, None]).bound.squeeze(1)
    assert bool((reached >= bound - 1e-4).all())
    plain = (rows * inputs.realise(inputs.sample(1)[:, 0])).sum((1, 2, 3))
    if name == "inf 0 inside":  # there is no other field
        assert torch.equal(reached, plain)
    elif inputs.searches:
        assert float((plain - reached).sum()) > 0
    else:
        torch.testing.assert_close(reached, bound, rtol=0, atol=1e-4)


def test_linear_programs_ask_their_set() -> None:
    inputs = problem("inf 0.05 clamp").inputs
    wrapped = Polyhedral(inputs)
    rows, slopes = torch.randn((3, 2, 6, 5)), torch.randn((3, 6, 5, 2))
    sample = wrapped.sample(5, torch.Generator().manual_seed(1))
    assert torch.equal(sample, inputs.sample(5, torch.Generator().manual_seed(1)))
    assert torch.equal(wrapped.steepest(slopes), inputs.steepest(slopes))
    assert torch.equal(wrapped.minimiser(rows, 5), inputs.minimiser(rows, 5))
    assert wrapped.contains(slopes).tolist() == [False] * 3
    assert wrapped.contains(sample[:, 4]).tolist() == [True] * 3
