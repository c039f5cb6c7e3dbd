"""KRelu: never below linear programs, never above members."""

from __future__ import annotations

import pytest
import torch

import warpcert as wc
from tests.bound.problems import problem
from tests.bound.test_overview import FREE, LABEL, SMOOTH, lowest_member, toy
from tests.flow.pictures import OVERVIEW
from tests.verify.networks import deep, step_image
from tests.verify.test_certify import QUARTER, one
from tests.verify.test_mixed import hard
from warpcert import Status
from warpcert.bound import DeepPoly
from warpcert.verify.krelu import KRelu
from warpcert.verify.programs import LinearProgram, Setting

NAMES = ["relu on box", "max pooling on box", "residual on smooth"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [2, 3])
def test_margins_are_between_programs_and_members(name: str, k: int) -> None:
    asked = problem(name)
    before = DeepPoly(inner_steps=5)
    rows, few = asked.rows[:, 1:3], KRelu(before=before, k=k, neurons=9, rounds=3)
    found = few(asked.network, asked.inputs, rows)
    plain = LinearProgram(before=before)(asked.network, asked.inputs, rows)
    assert bool((found.margins <= asked.margins.amin(0)[:, 1:3] + 1e-9).all())
    assert bool((found.margins >= plain.margins - 1e-9).all())


def test_two_relus_of_one_value() -> None:
    """0.32 - |m - 0.1| - |m - 0.15| for a mean m in [0, 0.25]."""
    network = deep(
        ([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]], [-0.1, 0.1, -0.15, 0.15]),
        ([[-1.0, -1.0, -1.0, -1.0], [0.0, 0.0, 0.0, 0.0]], [0.32, 0.0]),
    )
    margins = {
        name: float(
            wc.bounds(
                network, step_image()[None].double(), QUARTER, torch.tensor([0]), name
            ).margins
        )
        for name in ("alpha", "lp", "krelu")
    }
    # least at both ends
    assert margins["krelu"] == pytest.approx(0.07, abs=1e-6)
    assert margins["alpha"] <= margins["lp"] + 1e-9 <= margins["krelu"] + 2e-9


def test_the_method() -> None:
    """By groups the margin is at least bias - 0.489, by linear programs bias - 0.583."""
    assert one(hard(0.53), step_image(), 0, QUARTER, "lp").status is Status.UNKNOWN
    verdict = one(hard(0.53), step_image(), 0, QUARTER, "krelu")
    assert verdict.status is Status.CERTIFIED and verdict.reason == ""
    verdict = one(hard(0.45), step_image(), 0, QUARTER, "krelu")
    assert verdict.status is Status.UNKNOWN and verdict.margin <= -0.03


def test_the_overview() -> None:
    for bias, threat in ((0.125, FREE), (-0.125, SMOOTH)):
        found = wc.bounds(toy(bias), OVERVIEW, threat, LABEL, "krelu")
        assert float(found.margins) >= 0.125 - 1e-9
    assert float(found.margins) <= lowest_member(toy(-0.125)) + 1e-9


def test_rows_may_come_in_parts_that_see_different_pixels() -> None:
    asked = problem("relu on smooth inside")
    one_image = asked.inputs.select(torch.tensor([0]))
    bounds = DeepPoly(inner_steps=5)(asked.network, one_image, asked.rows[:1])
    setting = Setting.of(asked.network, one_image, bounds)
    assert setting is not None
    found = [
        KRelu(k=2, neurons=4, rounds=2, rows=n).solve(setting, asked.rows[0, :1]) for n in (5, 700)
    ]
    assert found[0][0].bound == pytest.approx(found[1][0].bound, abs=0.05)
