"""Encodings: members are points of them, and exact ones have no others."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.bound.problems import DOUBLE, MODULES, between_points, layered, problem
from warpcert import Box, InputSet, Interval, Network, Unsound
from warpcert.bound import DeepPoly
from warpcert.net.average import AveragePool
from warpcert.solve import Encoding, Highs, Status, encode, one_of, solve, value_intervals

PIECEWISE = ["relu", "leaky", "steep", "abs", "max pooling", "residual"]
EXACT = 1e-6


def encoded(
    network: Network, inputs: InputSet, k: int = 0, *, exact: bool = False, widen: float = 0.0
) -> Encoding:
    """One image's, with DeepPoly's bounds of layers."""
    one = inputs.select(torch.tensor([k]))
    rows = torch.eye(network.classes, dtype=DOUBLE)[None]
    layers = DeepPoly(inner_steps=5)(network, one, rows).layers
    values = [one_of(x) for x in value_intervals(network, one.box, layers)]
    (polytope,) = one.polytope()
    return encode(network, polytope, values, len(network), exact=exact, widen=widen)


@pytest.mark.parametrize(
    "name", [f"{name} on box" for name in MODULES if name != "affine"] + ["relu on Tinf colour"]
)
def test_members_are_points(name: str) -> None:
    """Extreme members, random ones and those where rows are low satisfy every row."""
    asked = problem(name)
    for exact in (False, True):
        encoding = encoded(asked.network, asked.inputs, exact=exact)
        for image in asked.members[::3, 0]:
            encoding.check_member(image)


@pytest.mark.parametrize("name", PIECEWISE)
def test_an_exact_encoding_of_one_image_is_the_network(name: str) -> None:
    """With intervals of a whole box, but the image fixed: binaries and rows leave no freedom."""
    asked = problem(f"{name} on box")
    encoding = encoded(asked.network, asked.inputs, 1, exact=True, widen=1e-6)
    program = encoding.program
    assert program.integral is not None and program.integral.any()
    for image in asked.members[:6:2, 1]:
        entries = encoding.polytope.image.ravel()
        low, high = program.lower.copy(), program.upper.copy()
        low[entries] = high[entries] = image.numpy().ravel()
        scores = asked.network(image[None])[0].numpy()
        for sign in (1.0, -1.0):
            row = np.array([sign, 0.5, -0.25])
            fixed = replace(
                program, cost=encoding.cost(len(asked.network), row), lower=low, upper=high
            )
            found = Highs().solve(fixed)
            assert found.status is Status.OPTIMAL
            assert found.claim == pytest.approx(
                row @ scores, abs=EXACT * (1 + np.abs(scores).sum())
            )


@pytest.mark.parametrize("name", [*PIECEWISE, "sigmoid", "tanh", "square", "normalised"])
def test_programs_are_below_members_and_integers_above_relaxations(name: str) -> None:
    asked = problem(f"{name} on box")
    value = len(asked.network)
    relaxed = encoded(asked.network, asked.inputs)
    exact = encoded(asked.network, asked.inputs, exact=True)
    for row, margins in zip(asked.rows[0].numpy()[:2], asked.margins[:, 0].T, strict=False):
        least = solve(replace(relaxed.program, cost=relaxed.cost(value, row)))
        whole = Highs().solve(replace(exact.program, cost=exact.cost(value, row)))
        lowest, size = float(margins.min()), 1 + float(margins.abs().max())
        assert least.bound <= whole.claim + EXACT * size
        assert whole.claim <= lowest + EXACT * size
        assert least.claim - least.bound <= EXACT * size


def test_only_open_neurons_have_binaries() -> None:
    """Two neurons, of which the first is on: [1, 3] and [-1, 1]."""
    network = layered(([[1.0, 0.0], [0.0, 1.0]], [2.0, 0.0]), ([[1.0, 1.0], [0.0, 0.0]], None))
    inputs = between_points([-1.0, -1.0], [1.0, 1.0])
    encoding = encoded(network, inputs, exact=True)
    assert encoding.program.integral is not None and int(encoding.program.integral.sum()) == 1
    assert encoded(network, inputs).program.integral is None
    assert encoding.columns[3][0] == encoding.columns[2][0]  # no column of its own


def test_dead_neurons_and_what_only_they_use_have_no_columns() -> None:
    network = layered(([[1.0, 0.0], [0.0, 1.0]], [-5.0, 0.0]), ([[7.0, 1.0], [3.0, 0.0]], None))
    encoding = encoded(network, between_points([-1.0, -1.0], [1.0, 1.0]))
    assert encoding.columns[3][0] == -1 and encoding.columns[2][0] == -2
    with pytest.raises(ValueError, match="not part of the program"):
        encoding.cost(2, np.array([1.0, 0.0]))


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_intervals_that_leave_out_a_member_are_a_defect(end: str) -> None:
    """Bounds of float32 without widening once made a program empty, which looks like a proof."""
    network = layered(([[2.0, -1.0]], [0.1]), ([[1.0], [0.0]], None))
    inputs = between_points([-1.0, -1.0], [1.0, 1.0])
    values = [one_of(x) for x in value_intervals(network, inputs.box, {})]
    (polytope,) = inputs.polytope()
    image = torch.tensor([[[1.0, -1.0]]] if end == "upper" else [[[-1.0, 1.0]]], dtype=DOUBLE)
    encode(network, polytope, values, len(network), exact=True).check_member(image)
    wrong = {"lower": (-2.8, 3.1), "upper": (-2.9, 3.0)}[end]
    values[2] = Interval(*(torch.tensor([x], dtype=DOUBLE) for x in wrong))
    for exact in (False, True):
        with pytest.raises(Unsound, match="a member of the input set is no point"):
            encode(network, polytope, values, len(network), exact=exact).check_member(image)


def test_equal_columns_of_a_row_are_added_up() -> None:
    """x + relu(x) for x > 0 names one column twice; the sum's rounding is allowed for."""
    from warpcert.net import Step
    from warpcert.net.linear import Linear
    from warpcert.net.relu import Relu
    from warpcert.net.reshape import Reshape
    from warpcert.net.sum import Sum

    eye = torch.eye(2, dtype=DOUBLE)
    network = Network(
        (1, 1, 2),
        (
            Step(Reshape((1, 1, 2), (2,)), (0,), (2,)),
            Step(Relu(), (1,), (2,)),
            Step(Sum((0.1, 0.2), (2,)), (1, 2), (2,)),
            Step(Linear(eye, None, (2,)), (3,), (2,)),
        ),
    )
    encoding = encoded(network, between_points([1.0, 2.0], [3.0, 4.0]))
    rows = encoding.program.rows
    assert all(len(set(part)) == len(part) for part in _parts(rows.columns, rows.starts))
    assert (rows.lower < rows.upper).sum() == 2
    found = solve(replace(encoding.program, cost=encoding.cost(4, np.array([1.0, 1.0]))))
    assert found.bound == pytest.approx(0.9, abs=1e-9)


def _parts(columns: np.ndarray, starts: np.ndarray) -> list[list[int]]:
    return [columns[a:b].tolist() for a, b in itertools.pairwise(starts)]


def test_rounded_weights_have_a_slack() -> None:
    """A weight of average pooling is the product of two numbers: 1/3 * 1/3 is rounded."""
    from warpcert.net import Step
    from warpcert.net.reshape import Reshape

    third = torch.full((1, 3), 1 / 3, dtype=DOUBLE)
    network = Network(
        (2, 3, 3),
        (
            Step(AveragePool(third, third, (2, 3, 3)), (0,), (2, 1, 1)),
            Step(Reshape((2, 1, 1), (2,)), (1,), (2,)),
        ),
    )
    low = torch.rand((1, 2, 3, 3), dtype=DOUBLE)
    encoding = encoded(network, Box(Interval(low, low + 1)))
    rows = encoding.program.rows
    assert (rows.upper - rows.lower > 0).all() and (rows.upper - rows.lower < 1e-14).all()


assert set(PIECEWISE) <= set(MODULES)
