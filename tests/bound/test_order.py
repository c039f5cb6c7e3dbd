"""Which bounds are never worse than which."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.bound.problems import DOUBLE, NAMES, between_points, boxes, layered, problem
from tests.contract.bounder import assert_close, solved
from tests.net.modules import Written
from warpcert import Bounds, Box, DeformedImage, Interval
from warpcert.bound import Alpha, Ascent, Bounder, DeepPoly, IntervalPropagation
from warpcert.net import Network, Step
from warpcert.net.convolution import Convolution
from warpcert.net.relu import Relu
from warpcert.net.reshape import Reshape
from warpcert.net.take import Take

INTERVAL, DEEPPOLY, ALONE = IntervalPropagation(), DeepPoly(), DeepPoly(intersect=False)
ALPHA = Alpha(Ascent(iterations=1), Ascent(iterations=4))
CLOSE = 1e-11
"""Rounding that is taken off here and not there, relative to the largest bound."""


def assert_no_worse(better: Bounds, worse: Bounds) -> None:
    assert_above(better.margins, worse.margins)
    for k, interval in worse.layers.items():
        assert_above(better.layers[k].lower, interval.lower)
        assert_above(-better.layers[k].upper, -interval.upper)


def assert_above(one: Tensor, other: Tensor) -> None:
    assert bool((one >= other - CLOSE * (1 + other.abs().max())).all())


@pytest.mark.parametrize("name", NAMES)
def test_deeppoly_is_no_worse_than_intervals(name: str) -> None:
    assert_no_worse(solved(DEEPPOLY, name), solved(INTERVAL, name))


@pytest.mark.parametrize("name", NAMES)
def test_alpha_is_no_worse_than_deeppoly(name: str) -> None:
    assert_no_worse(solved(ALPHA, name), solved(DEEPPOLY, name))


@pytest.mark.parametrize("name", [name for name in NAMES if "on box" not in name])
def test_the_hull_is_no_worse_than_the_box(name: str) -> None:
    asked = problem(name)
    boxed = DEEPPOLY(asked.network, Box(asked.inputs.box), asked.rows)
    hull = solved(DEEPPOLY, name)
    first = min(hull.layers, default=None)
    if first is not None and not asked.inputs.boxed:
        assert_above(hull.layers[first].lower, boxed.layers[first].lower)
    if "affine" in name or "stable" in name or asked.inputs.boxed:
        assert_no_worse(hull, boxed)


def test_colours_that_move_together_are_tighter_than_their_box() -> None:
    asked = problem("relu on Tinf colour")
    boxed = DEEPPOLY(asked.network, Box(asked.inputs.box), asked.rows)
    assert bool((solved(DEEPPOLY, "relu on Tinf colour").margins > boxed.margins + 1e-3).all())


def test_smooth_fields_are_tighter_than_free_ones() -> None:
    asked = problem("relu on smooth inside")
    assert isinstance(asked.inputs, DeformedImage)
    free = replace(asked.inputs, threat=replace(asked.inputs.threat, gamma=float("inf")))
    loose = DEEPPOLY(asked.network, free, asked.rows)
    found = DEEPPOLY(asked.network, asked.inputs, asked.rows, loose)
    assert_no_worse(found, loose)
    assert bool((found.margins > loose.margins + 1e-3).any())


def test_slopes_are_worth_their_search() -> None:
    name = "relu on T2 far"
    assert bool((solved(ALPHA, name).margins > solved(DEEPPOLY, name).margins + 1e-3).any())


# Neurons of the first layer, whose exact intervals are known


@pytest.mark.parametrize("bounder", [DEEPPOLY, ALONE, ALPHA])
@pytest.mark.parametrize("way", ["taken twice", "copied by a convolution"])
def test_a_pixel_that_is_there_twice_does_not_open_a_neuron(
    bounder: DeepPoly | Alpha, way: str
) -> None:
    """x - x is zero, whatever x is; intervals of the copies do not know."""
    difference = torch.tensor([[1.0, -1.0]], dtype=DOUBLE)
    copied = Step(Take(torch.tensor([0, 0]), 0, (1, 1, 1)), (0,), (2, 1, 1))
    if way != "taken twice":
        ones = torch.ones((2, 1, 1, 1), dtype=DOUBLE)
        copied = Step(Convolution(ones, None, (1, 1, 1)), (0,), (2, 1, 1))
    tail = layered((difference.tolist(), None), ([[1.0], [-1.0]], None)).steps[1:]
    steps = [copied, Step(Reshape((2, 1, 1), (2,)), (1,), (2,))]
    steps += [replace(step, inputs=tuple(k + 1 for k in step.inputs)) for step in tail]
    network = Network((1, 1, 1), tuple(steps))
    assert isinstance(network.steps[3].node, Relu)
    rows = torch.tensor([[[1.0, -1.0], [-1.0, 1.0]]], dtype=DOUBLE)
    found = bounder(network, between_points([0.0], [1.0]), rows)
    assert_close(found.margins, torch.zeros((1, 2), dtype=DOUBLE))


@cache
def turned(order: tuple[int, ...]) -> Network:
    """One network, whose last activation sees its layer with the axes in another order."""
    torch.manual_seed(1)
    back = tuple(order.index(axis) for axis in range(4))
    module = Written(
        lambda m, x: m.head(F.relu(m.two(F.relu(m.one(x))).permute(order)).permute(back)),
        one=nn.Conv2d(1, 3, 3),
        two=nn.Conv2d(3, 2, 2),
        head=nn.Sequential(nn.Flatten(), nn.Linear(8, 3)),
    )
    return Network.from_module(module.double().eval(), (1, 5, 5))


@pytest.mark.parametrize("bounder", [INTERVAL, DEEPPOLY, ALONE, ALPHA])
def test_the_order_of_axes_does_not_matter(bounder: Bounder) -> None:
    """Channels last, as some files have them, and back again: the same function."""
    box, rows = boxes().box, problem("relu on box").rows
    wide = Box(Interval(box.lower - 0.3, box.upper + 0.3))
    plain, other = (bounder(turned(order), wide, rows) for order in ((0, 1, 2, 3), (0, 2, 3, 1)))
    assert_close(other.margins, plain.margins, 1e-3 if bounder is ALPHA else CLOSE)
    assert [open_neurons(x) for x in other.layers.values()] == [
        open_neurons(x) for x in plain.layers.values()
    ]


def open_neurons(interval: Interval) -> int:
    return int(((interval.lower < 0) & (interval.upper > 0)).sum())
