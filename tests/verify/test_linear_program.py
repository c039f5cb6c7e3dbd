"""LinearProgram: the contract of bounders, and where it stands among them on real networks."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from torch import Tensor

import warpcert as wc
from tests.bound.test_overview import FREE, LABEL, SMOOTH, lowest_member, toy
from tests.contract.bounder import BounderContract
from tests.flow.pictures import OVERVIEW
from warpcert import Bounds, Box, DeformedImage, InputSet, Interval, Network, Threat
from warpcert.bound import Bounder, DeepPoly, margin_rows
from warpcert.bound.backward import over_intervals
from warpcert.bound.layers import bound_layers
from warpcert.bound.substitution import Substitution
from warpcert.solve import Polyhedral, Solution, Tighten
from warpcert.verify import Relaxation
from warpcert.verify.programs import LinearProgram, Setting

DOUBLE = torch.float64
EXACT = 1e-6


class TestLinearProgram(BounderContract):
    # images, rows and parts are those of what comes before it, which has its own tests
    test_small_parts_give_the_same_bounds = None  # type: ignore[assignment]
    test_work_that_runs_out_of_memory_is_halved = None  # type: ignore[assignment]
    test_images_in_another_order = None  # type: ignore[assignment]
    test_rows_in_another_order = None  # type: ignore[assignment]
    test_bounds_of_a_larger_set_are_a_start = None  # type: ignore[assignment]

    @pytest.fixture
    def bounder(self) -> Bounder:
        return LinearProgram(before=DeepPoly(inner_steps=5))


# On real networks: the same intervals of neurons, the same polytope


@cache
def real(
    name: str, gamma: float, relaxation: Relaxation
) -> tuple[Network, InputSet, Tensor, Bounds]:
    """A bundled network on one image, and DeepPoly's bounds without flow."""
    network = wc.load_network(f"{name}-convsmall-ibp")
    images, labels = wc.load_images(f"{name}:0-9")
    image = images[3:4].double()
    delta = 0.6 if name == "mnist" else 0.1
    free = Box(wc.pixel_bounds(image, Threat("inf", delta)))
    rows = margin_rows(labels[3:4], 10)[:, 1:2]
    inputs = DeformedImage(image, Threat("inf", delta, gamma), relaxation=relaxation)
    return network, inputs, rows, DeepPoly()(network, free, rows)


@cache
def programs(name: str, gamma: float, relaxation: Relaxation) -> list[Solution]:
    network, inputs, rows, bounds = real(name, gamma, relaxation)
    setting = Setting.of(network, inputs, bounds)
    assert setting is not None and setting.open > 20
    return LinearProgram().solve(setting, rows[0])


CASES: list[tuple[str, float, Relaxation]] = [
    ("mnist", float("inf"), "box"),
    ("mnist", 0.1, "hull"),
    ("mnist", 0.1, "planes"),
    ("cifar10", float("inf"), "hull"),
]


@pytest.mark.parametrize(("name", "gamma", "relaxation"), CASES)
def test_programs_are_above_back_substitution_and_that_above_intervals(
    name: str, gamma: float, relaxation: Relaxation
) -> None:
    network, inputs, rows, bounds = real(name, gamma, relaxation)
    known = bound_layers(network.to(dtype=DOUBLE), Box(inputs.box), (), bounds.layers)
    plain = over_intervals(known, rows, len(network))[0]
    back = Substitution()(known, Polyhedral(inputs), rows, len(network)).bound[0]
    found = torch.tensor([s.bound for s in programs(name, gamma, relaxation)], dtype=DOUBLE)
    size = float(found.abs().max())
    assert bool((found >= back - EXACT * size).all())
    assert bool((back >= plain - EXACT * size).all())
    assert bool((found > back + 1e-3).any())  # or nothing is tested


@pytest.mark.parametrize(("name", "gamma", "relaxation"), CASES)
def test_bounds_from_duals_are_the_solvers_own(
    name: str, gamma: float, relaxation: Relaxation
) -> None:
    for solution in programs(name, gamma, relaxation):
        assert solution.bound <= solution.claim
        assert solution.claim - solution.bound <= EXACT * max(1.0, abs(solution.claim))


def test_hulls_are_above_planes_and_planes_above_boxes() -> None:
    box = programs("mnist", float("inf"), "box")
    planes, hull = (programs("mnist", 0.1, relaxation) for relaxation in ("planes", "hull"))
    for a, b, c in zip(box, planes, hull, strict=True):
        assert a.bound <= b.bound + EXACT <= c.bound + 2 * EXACT
    assert max(c.bound - a.bound for a, c in zip(box, hull, strict=True)) > 1e-3


def test_tightened_intervals_are_no_wider_and_hold_members() -> None:
    network, inputs, _, bounds = real("mnist", 0.1, "planes")
    assert isinstance(inputs, DeformedImage)
    setting = Setting.of(network, inputs, bounds)
    assert setting is not None
    better = setting.tightened(Tighten(seconds=0.5, budget=2.0))
    fields = inputs.threat.sample((28, 28), 20, generator=torch.Generator().manual_seed(0))
    images = wc.warp(inputs.images.expand(20, -1, -1, -1), fields)
    values, gained = network.values(images), 0.0
    for k, interval in better.layers.items():
        old = setting.layers[k]
        assert bool((interval.lower >= old.lower).all() and (interval.upper <= old.upper).all())
        assert bool(
            Interval(interval.lower - 1e-9, interval.upper + 1e-9).contains(values[k]).all()
        )
        gained += float((old.width - interval.width).sum())
    assert gained > 0


# The paper's toy network


def test_the_overview() -> None:
    """The second network needs no flow here: its two triangles give 0.125 at once."""
    row = 1
    for bias, wanted in ((0.125, 0.125), (-0.125, 0.125)):
        found = wc.bounds(toy(bias, row), OVERVIEW, FREE, LABEL, "lp")
        assert float(found.margins) >= wanted - 1e-9
    for relaxation in ("planes", "hull"):
        found = wc.bounds(toy(-0.125, row), OVERVIEW, SMOOTH, LABEL, "lp", relaxation=relaxation)
        assert 0.125 - 1e-9 <= float(found.margins) <= lowest_member(toy(-0.125, row)) + 1e-9
