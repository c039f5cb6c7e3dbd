"""LinearProgram: the contract of bounders, and where it stands among them on real networks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import pytest
import torch
from torch import Tensor

import warpcert as wc
from tests.bound.test_overview import FREE, LABEL, SMOOTH, lowest_member, toy
from tests.contract.bounder import BounderContract
from tests.flow.pictures import OVERVIEW
from warpcert import Bounds, Box, DeformedImage, Interval, Network, Threat
from warpcert.bound import Bounder, DeepPoly, margin_rows
from warpcert.bound.backward import over_intervals
from warpcert.bound.layers import bound_layers
from warpcert.bound.substitution import Substitution
from warpcert.solve import Polyhedral, Solution, Tighten
from warpcert.verify import Relaxation
from warpcert.verify.krelu import KRelu
from warpcert.verify.programs import LinearProgram, Setting

DOUBLE = torch.float64
EXACT = 1e-6


class TestLinearProgram(BounderContract):
    @pytest.fixture
    def bounder(self) -> Bounder:
        return LinearProgram(before=DeepPoly(inner_steps=5))

    @pytest.mark.parametrize("name", ["concat on box"])  # others take ten times as long
    def test_small_parts_give_the_same_bounds(
        self, bounder: Bounder, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        super().test_small_parts_give_the_same_bounds(bounder, name, monkeypatch)


# On real networks: the same intervals of neurons, the same polytope, every margin


@dataclass(frozen=True)
class Case:
    """A bundled network on one image, with DeepPoly's intervals of neurons without flow."""

    name: str
    delta: float
    gamma: float
    relaxation: Relaxation

    @cached_property
    def network(self) -> Network:
        return wc.load_network(self.name).to(dtype=DOUBLE)

    @cached_property
    def inputs(self) -> DeformedImage:
        images, _ = wc.load_images(f"{self.name.split('-')[0]}:3")
        threat = Threat("inf", self.delta, self.gamma)
        return DeformedImage(images.double(), threat, relaxation=self.relaxation)

    @cached_property
    def rows(self) -> Tensor:
        return margin_rows(self.network(self.inputs.images).argmax(1), 10)

    @cached_property
    def bounds(self) -> Bounds:
        free = Box(wc.pixel_bounds(self.inputs.images, Threat("inf", self.delta)))
        return DeepPoly()(self.network, free, self.rows)

    @cached_property
    def setting(self) -> Setting:
        found = Setting.of(self.network, self.inputs, self.bounds)
        assert found is not None and found.open > 20
        return found

    @cached_property
    def programs(self) -> list[Solution]:
        return LinearProgram().solve(self.setting, self.rows[0])


PLANES = Case("mnist-convsmall-ibp", 0.2, 0.05, "planes")
HULL = Case("mnist-convsmall-ibp", 0.2, 0.05, "hull")
BOX = Case("mnist-convsmall-pgd", 0.15, float("inf"), "box")
COLOUR = Case("cifar10-convsmall-ibp", 0.05, float("inf"), "hull")
CASES = [PLANES, HULL, BOX, COLOUR]


def proved(solutions: list[Solution]) -> Tensor:
    return torch.tensor([solution.bound for solution in solutions], dtype=DOUBLE)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_engine_is_above_the_one_before_on_every_margin(case: Case) -> None:
    network, rows, value = case.network, case.rows, len(case.network)
    known = bound_layers(network, Box(case.inputs.box), (), case.bounds.layers)
    found = [
        over_intervals(known, rows, value)[0],
        Substitution()(known, Polyhedral(case.inputs), rows, value).bound[0],
        proved(case.programs),
    ]
    if case is not COLOUR:  # groups gain nothing there
        groups = KRelu(k=2, neurons=8, rounds=2).solve(case.setting, rows[0])
        found.append(proved(groups))
    for lower, higher in itertools.pairwise(found):
        assert bool((higher >= lower - EXACT * lower.abs().clamp(min=1)).all())
        assert bool((higher > lower + 1e-3).any())  # or nothing is tested


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bounds_from_duals_are_the_solvers_own(case: Case) -> None:
    for solution in case.programs:
        assert solution.bound <= solution.claim <= solution.bound + EXACT


def test_hulls_are_above_planes_and_planes_above_boxes() -> None:
    box = Setting.of(HULL.network, Box(HULL.inputs.box), HULL.bounds)
    assert box is not None
    found = [
        proved(LinearProgram().solve(box, HULL.rows[0])),
        proved(PLANES.programs),
        proved(HULL.programs),
    ]
    for lower, higher in itertools.pairwise(found):
        assert bool((higher >= lower - EXACT).all())
        assert bool((higher > lower + 1e-3).any())


def test_tightened_intervals_are_no_wider_and_hold_members() -> None:
    network, inputs, setting = PLANES.network, PLANES.inputs, PLANES.setting
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
