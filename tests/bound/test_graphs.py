"""Graphs drawn at random: values used many times, in every order, with biases everywhere."""

from __future__ import annotations

import itertools
import random

import pytest
import torch

from tests.bound.problems import DOUBLE, Problem, between_points, slack
from tests.contract.bounder import assert_close, linear_minimum
from warpcert.bound import Alpha, Ascent, Bounder, DeepPoly, IntervalPropagation
from warpcert.net import Activation, Affine, Network, Step
from warpcert.net.absolute import Abs
from warpcert.net.concat import Concat
from warpcert.net.leaky import LeakyRelu
from warpcert.net.linear import Linear
from warpcert.net.relu import Relu
from warpcert.net.reshape import Reshape
from warpcert.net.scale import Scale
from warpcert.net.square import Square
from warpcert.net.sum import Sum
from warpcert.net.take import Take
from warpcert.net.tanh import Tanh

SIZE = 4
BOUNDERS: list[Bounder] = [
    IntervalPropagation(),
    DeepPoly(),
    DeepPoly(intersect=False),
    Alpha(Ascent(iterations=1), Ascent(iterations=2)),
]
ACTIVATIONS: list[Activation] = [
    Relu(), Relu(), Abs(), LeakyRelu(0.1), LeakyRelu(1.7), Tanh(), Square(),
]  # fmt: skip


def graph(seed: int, activations: bool = True, length: int = 10) -> Network:
    """Vectors of SIZE entries, of which each step takes one or two of the last five."""
    dice = random.Random(seed)
    torch.manual_seed(seed)
    shape = (SIZE,)
    steps = [Step(Reshape((1, 1, SIZE), shape), (0,), shape)]

    def add(node: Affine | Activation, *inputs: int, out: tuple[int, ...] = shape) -> None:
        steps.append(Step(node, inputs, out))

    def some() -> int:
        recent = range(max(1, len(steps) - 5), len(steps) + 1)
        return dice.choice([k for k in recent if steps[k - 1].shape == shape])

    while len(steps) < length:
        match dice.randint(0, 7 if activations else 4):
            case 0:
                add(Linear(torch.randn(SIZE, SIZE, dtype=DOUBLE) / 2, bias(), shape), some())
            case 1:
                add(Scale(torch.randn(SIZE, dtype=DOUBLE), bias(), shape), some())
            case 2:
                add(Take(torch.randint(SIZE, (SIZE,)), 0, shape), some())
            case 3:
                add(Sum((1.0, dice.choice([1.0, -2.0, 0.5])), shape), some(), some())
            case 4:
                add(Concat((shape, shape), 0), some(), some(), out=(2 * SIZE,))
                matrix = torch.randn(SIZE, 2 * SIZE, dtype=DOUBLE) / 2
                add(Linear(matrix, bias(), (2 * SIZE,)), len(steps))
            case _:
                add(dice.choice(ACTIVATIONS), some())
    add(Sum((1.0,) * 3, shape), len(steps), some(), some())
    add(Linear(torch.randn(3, SIZE, dtype=DOUBLE), bias(3), shape), len(steps), out=(3,))
    return Network((1, 1, SIZE), tuple(steps))


def bias(size: int = SIZE) -> torch.Tensor:
    return torch.randn(size, dtype=DOUBLE)


def asked(network: Network, seed: int) -> Problem:
    """A box, with its corners and points inside."""
    torch.manual_seed(seed)
    centre, radius = torch.rand(SIZE, dtype=DOUBLE), 0.4 * torch.rand(SIZE, dtype=DOUBLE)
    box = between_points((centre - radius).tolist(), (centre + radius).tolist())
    corners = torch.tensor(list(itertools.product([0.0, 1.0], repeat=SIZE)), dtype=DOUBLE)
    shares = torch.cat([corners, torch.rand(48, SIZE, dtype=DOUBLE)])
    low, high = box.box.lower, box.box.upper
    members = torch.clamp(low + shares[:, None, None, None] * (high - low), low, high)
    return Problem(network, box, torch.randn(1, 3, 3, dtype=DOUBLE), members)


@pytest.mark.parametrize("block", range(4))
def test_bounds_hold_on_any_graph(block: int) -> None:
    for seed in range(4 * block, 4 * block + 4):
        problem = asked(graph(seed), seed)
        for bounder in BOUNDERS:
            found = bounder(problem.network, problem.inputs, problem.rows)
            least = problem.margins.amin(0)
            assert bool((found.margins <= least + slack(problem.margins)).all()), (seed, bounder)
            for k, interval in found.layers.items():
                noise = slack(problem.values[k])
                assert bool((interval.lower <= problem.values[k] + noise).all()), (seed, k)
                assert bool((interval.upper >= problem.values[k] - noise).all()), (seed, k)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_exact_on_affine_graphs(seed: int) -> None:
    problem = asked(graph(seed, activations=False), seed)
    exact = linear_minimum(problem, problem.inputs)
    for bounder in BOUNDERS:
        found = bounder(problem.network, problem.inputs, problem.rows)
        assert_close(found.margins, exact)
