"""Polyhedral: the contract of input sets, by linear programs."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import Tensor

from tests.contract.input_set import Case, InputSetContract, inner
from tests.core.test_box import exactly as box_exactly
from tests.flow.pictures import draw, picture
from tests.flow.test_support import by_members, exactly
from tests.solve.sets import Relaxed
from warpcert import Box, DeformedImage, Interval, Threat, pixel_bounds, warp
from warpcert.flow.polytope import Relaxation
from warpcert.solve import Polyhedral

DOUBLE = torch.float64
FLOWING: tuple[Relaxation, ...] = ("planes", "hull")


class TestPolyhedralBox(InputSetContract):
    @pytest.fixture
    def case(self) -> Case:
        centre, radius = torch.rand((2, 2, 3, 4, 5), dtype=DOUBLE)
        interval = Interval(centre - radius, centre + radius)
        parameters = [interval.lower, centre, *torch.randn((4, *centre.shape), dtype=DOUBLE)]
        made = Polyhedral(Box(interval))
        return Case(made, parameters, lambda rows: box_exactly(interval, rows))


CASES: list[tuple[Relaxation, Threat]] = [
    ("planes", Threat(math.inf, 0.4, 0.1)),
    ("planes", Threat(2, 0.9, 0.3, "inside")),
    ("hull", Threat(math.inf, 1.3)),
    ("hull", Threat(math.inf, 0.9, 0.1, "inside")),
    ("hull", Threat(1, 0.7, 0.1)),
]


@cache
def polyhedral(relaxation: Relaxation, threat: Threat) -> Polyhedral:
    """One for all tests: an answer does not depend on what was asked before."""
    images = picture("random", 3, 2, 3, batch=2)
    return Polyhedral(Relaxed(images, threat, relaxation=relaxation))


class TestPolyhedralDeformedImage(InputSetContract):
    @pytest.fixture(params=CASES, ids=str)
    def case(self, request: pytest.FixtureRequest) -> Case:
        relaxation, threat = request.param
        images = picture("random", 3, 2, 3, batch=2)
        members = threat.sample((2, 3), 16, generator=draw(0))
        others = torch.randn((2, 2, 2, 3, 2), dtype=DOUBLE, generator=draw(1))
        parameters = [*others, *members[:, None].expand(-1, 2, -1, -1, -1)]
        made = polyhedral(relaxation, threat)
        if threat.gamma == math.inf:
            return Case(made, parameters, lambda rows: exactly(images, threat, rows))
        return Case(made, parameters, lambda rows: by_members(images, members, rows), exact=False)


def ask(relaxation: Relaxation, images: Tensor, threat: Threat, rows: Tensor) -> Tensor:
    return Polyhedral(Relaxed(images, threat, relaxation=relaxation)).minimise(rows).bound


@pytest.mark.parametrize(("kind", "channels"), [("real", 1), ("real", 3), ("random", 1)])
@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.3, math.inf])
def test_hull_planes_and_box_come_in_this_order(kind: str, channels: int, gamma: float) -> None:
    images = picture(kind, channels, 8, 8, batch=2)
    threat = Threat("inf", 0.4, gamma)
    rows = torch.randn((2, 3, channels, 8, 8), dtype=DOUBLE)
    boxed = Box(pixel_bounds(images, threat)).minimise(rows).bound
    planes, hull = (ask(name, images, threat, rows) for name in FLOWING)
    box = ask("box", images, threat, rows)
    assert bool((box == boxed).all())
    assert bool((planes >= boxed).all())
    assert bool((hull >= planes - 1e-7).all())
    if gamma < 0.1:
        assert bool((hull > boxed + 1e-2).all())
    for field in threat.sample((8, 8), 20, generator=draw(0)):
        assert bool((hull <= inner(rows, warp(images, field[None]))).all())


def test_smoother_fields_have_higher_bounds() -> None:
    images, rows = picture("real", 1, 8, 8), torch.randn((1, 4, 1, 8, 8), dtype=DOUBLE)
    gammas = (math.inf, 0.3, 0.1, 0.01, 0.0)
    for relaxation in FLOWING:
        found = [ask(relaxation, images, Threat("inf", 0.5, g), rows) for g in gammas]
        for looser, tighter in itertools.pairwise(found):
            assert bool((tighter >= looser - 1e-7).all())
        assert bool((found[-1] > found[0] + 1e-2).all())


@pytest.mark.parametrize("gamma", [0.1, 0.3])
def test_the_search_for_duals_and_the_program_agree(gamma: float) -> None:
    images, rows = picture("real", 1, 8, 8), torch.randn((1, 4, 1, 8, 8), dtype=DOUBLE)
    threat = Threat("inf", 0.5, gamma)
    searched = DeformedImage(images, threat).minimise(rows, steps=1000).bound
    program = ask("hull", images, threat, rows)
    free = DeformedImage(images, Threat("inf", 0.5)).minimise(rows).bound
    assert bool((searched <= program + 1e-7).all())
    assert bool((searched >= program - 0.05 * (program - free)).all())


def test_all_else_is_the_wrapped_sets() -> None:
    images = picture("random", 3, 4, 4, batch=2)
    wrapped = Relaxed(images, Threat("inf", 0.4, 0.1))
    made = Polyhedral(wrapped)
    v = torch.randn((2, 4, 4, 2), dtype=DOUBLE)
    assert made.box is wrapped.box and made.boxed is wrapped.boxed is False
    assert torch.equal(made.project(v), wrapped.project(v))
    assert torch.equal(made.realise(v), wrapped.realise(v))
    assert len(made.polytope()) == 2
    assert Polyhedral(Box(wrapped.box)).boxed
    assert made.minimise(torch.ones((2, 1, 3, 4, 4))).duals is None


def test_selected_images_share_the_programs_that_are_there() -> None:
    images = picture("random", 1, 4, 4, batch=3)
    made = Polyhedral(Relaxed(images, Threat("inf", 0.4, 0.1), relaxation="planes"))
    rows = torch.randn((3, 2, 1, 4, 4), dtype=DOUBLE)
    order = torch.tensor([2, 0, 2])
    before = made.select(order).minimise(rows[order]).bound
    whole = made.minimise(rows).bound
    chosen = made.select(order)
    torch.testing.assert_close(chosen.minimise(rows[order]).bound, whole[order])
    torch.testing.assert_close(before, whole[order])
    assert [pair[1] for pair in chosen.solvers()] == [made.solvers()[k][1] for k in (2, 0, 2)]


def test_out_of_time_the_box_remains() -> None:
    images, threat = picture("random", 1, 6, 6), Threat("inf", 0.4, 0.1)
    rows = torch.randn((1, 3, 1, 6, 6), dtype=DOUBLE, requires_grad=True)
    made = Polyhedral(Relaxed(images, threat), time_limit=0.0)
    bound = made.minimise(rows).bound
    boxed = Box(made.box).minimise(rows).bound
    assert bool((bound >= boxed).all())
    assert bool((bound <= replace(made, time_limit=None, _solvers=[]).minimise(rows).bound).all())
    (grad,) = torch.autograd.grad(bound.sum(), rows)
    assert bool(torch.isfinite(grad).all())


def test_the_gradient_is_a_point_of_the_polytope() -> None:
    images, threat = picture("real", 3, 6, 6), Threat("inf", 0.4, 0.1)
    rows = torch.randn((1, 3, 3, 6, 6), dtype=DOUBLE, requires_grad=True)
    made = Polyhedral(Relaxed(images, threat, relaxation="planes"))
    bound = made.minimise(rows).bound
    (grad,) = torch.autograd.grad(bound.sum(), rows)
    torch.testing.assert_close((rows * grad).sum((2, 3, 4)), bound, rtol=1e-9, atol=1e-9)
    box = made.box
    assert bool((grad >= box.lower[:, None] - 1e-7).all())
    assert bool((grad <= box.upper[:, None] + 1e-7).all())
