"""Mixed: minima found by trying every pattern of signs, and answers that prove nothing."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.bound.problems import DOUBLE, between_points, layered
from tests.bound.test_complete import drawn
from tests.flow.pictures import picture
from tests.oracle.patterns import evaluate, lowest
from tests.solve.test_encoding import encoded
from warpcert import DeformedImage, Network, Threat, Unsound, warp
from warpcert.bound import DeepPoly
from warpcert.core.polytope import Polytope, Rows
from warpcert.net import Step
from warpcert.net.reshape import Reshape
from warpcert.solve import (
    Aim,
    Encoding,
    Engine,
    Highs,
    Mixed,
    Program,
    Solution,
    Status,
    encode,
    one_of,
    solve,
    value_intervals,
)
from warpcert.solve.engine import TO_THE_END
from warpcert.solve.sheet import Sheet

AGREE = 1e-6
INF = math.inf


def least(encoding: Encoding, row: np.ndarray, engine: Engine | None = None) -> Solution:
    """The optimum, without stopping early."""
    cost = encoding.cost(len(encoding.network), row)
    return (engine or Highs()).solve(replace(encoding.program, cost=cost))


@pytest.mark.parametrize("seed", range(8))
def test_integers_find_the_minimum_over_a_box(seed: int) -> None:
    layers, random = drawn(seed, 3), np.random.default_rng(seed)
    centre, radius = random.normal(size=3), random.uniform(0, 0.7, size=3)
    network = layered(*((weight.tolist(), bias.tolist()) for weight, bias in layers))
    inputs = between_points((centre - radius).tolist(), (centre + radius).tolist())
    encoding = encoded(network, inputs, exact=True, widen=2.0**-20)
    for row in (np.array([1.0, -1.0, 0.0]), random.normal(size=3)):
        truth = lowest(layers, row, centre - radius, centre + radius)
        found = least(encoding, row)
        assert found.status is Status.OPTIMAL and found.point is not None
        assert found.claim == pytest.approx(truth.value, abs=AGREE)
        image = found.point[encoding.polytope.image].ravel()
        assert row @ evaluate(layers, image) == pytest.approx(truth.value, abs=AGREE)


@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_integers_find_the_minimum_over_bent_images(norm: Any) -> None:
    """With one channel and free neighbours the box is the set itself."""
    seed = 3
    layers, image = drawn(seed, 6), picture("random", 1, 2, 3, seed=seed)
    flat = layered(*((weight.tolist(), bias.tolist()) for weight, bias in layers))
    first = Step(Reshape((1, 2, 3), (6,)), (0,), (6,))
    network = Network((1, 2, 3), (first, *flat.steps[1:]))
    inputs = DeformedImage(image, Threat(norm, 0.4))
    ends = [x[0].flatten().numpy() for x in (inputs.box.lower, inputs.box.upper)]
    row = np.array([1.0, -1.0, 0.0])
    found = least(encoded(network, inputs, exact=True, widen=2.0**-20), row)
    assert found.claim == pytest.approx(lowest(layers, row, *ends).value, abs=AGREE)


# One row of pixels, with a binary for each cell: exact for smooth fields, too


def cells(image: np.ndarray, delta: float, gamma: float) -> tuple[Polytope, np.ndarray]:
    """One row of pixels moved along it by less than 1, and which columns must be integers.

    Left of its place a pixel mixes with the one before, right of it with the one behind; mixtures
    of all three are forbidden by a binary.
    """
    width = len(image)
    padded = np.pad(image, 1, mode="edge")
    ones = np.ones(width)
    draft = Sheet(
        Polytope(np.zeros(0), np.zeros(0), Rows.of([]), np.zeros(0, int), np.zeros(0, int))
    )
    pixels = draft.columns(0 * ones, ones)
    moves = draft.columns(-delta * ones, delta * ones)
    weights = [draft.columns(0 * ones, ones) for _ in range(3)]
    binary = draft.columns(0 * ones, ones)
    at = np.arange(width)
    stops = (-delta, 0.0, delta)
    values = [
        (1 - abs(s)) * image + abs(s) * padded[(np.arange(width) + 1 + int(np.sign(s)))]
        for s in stops
    ]
    draft.rows([(at, w, ones) for w in weights], ones, ones)
    mixed = [(at, w, s * ones) for w, s in zip(weights, stops, strict=True)]
    draft.rows([*mixed, (at, moves, -ones)], 0 * ones, 0 * ones)
    shown = [(at, w, v) for w, v in zip(weights, values, strict=True)]
    draft.rows([*shown, (at, pixels, -ones)], 0 * ones, 0 * ones)
    draft.rows([(at, weights[0], ones), (at, binary, -ones)], -INF * ones, 0 * ones)
    draft.rows([(at, weights[2], ones), (at, binary, ones)], -INF * ones, ones)
    few = at[:-1]
    steps = [(few, moves[1:], ones[1:]), (few, moves[:-1], -ones[1:])]
    draft.rows(steps, -gamma * ones[1:], gamma * ones[1:])
    lower, upper, rows, _ = draft.finished()
    integral = np.zeros(len(lower), dtype=bool)
    integral[binary] = True
    return Polytope(lower, upper, rows, pixels.reshape(1, 1, width), moves), integral


@pytest.mark.parametrize("seed", range(3))
def test_integers_find_the_minimum_over_smooth_fields_of_one_row(seed: int) -> None:
    random = np.random.default_rng(seed)
    image, delta, gamma = random.random(3), 0.8, 0.3
    layers = drawn(seed, 3)
    network = layered(*((weight.tolist(), bias.tolist()) for weight, bias in layers))
    threat = Threat("inf", delta, gamma)
    picture_ = torch.from_numpy(image).reshape(1, 1, 1, 3)
    inputs = DeformedImage(picture_, threat)
    bounds = DeepPoly()(network, inputs, torch.eye(3, dtype=DOUBLE)[None])
    values = [one_of(x) for x in value_intervals(network, inputs.box, bounds.layers)]
    polytope, integral = cells(image, delta, gamma)
    encoding = encode(network, polytope, values, len(network), exact=True, widen=2.0**-20)
    both = np.zeros(len(encoding.program.lower), dtype=bool)
    both[: len(integral)] = integral
    if encoding.program.integral is not None:
        both |= encoding.program.integral
    encoding = replace(encoding, program=replace(encoding.program, integral=both))
    steps = np.linspace(-delta, delta, 33)
    moves = np.array([m for m in itertools.product(steps, repeat=3) if smooth(m, gamma)])
    fields = torch.zeros((len(moves), 1, 3, 2), dtype=DOUBLE)
    fields[:, 0, :, 0] = torch.from_numpy(moves)
    scores = network(warp(picture_.expand(len(moves), -1, -1, -1), fields)).numpy()
    relaxed = encoded(network, inputs, exact=True)
    for row in (np.array([1.0, -1.0, 0.0]), random.normal(size=3)):
        tried = float((scores @ row).min())
        found = least(encoding, row)
        assert found.status is Status.OPTIMAL and found.point is not None
        assert found.claim <= tried + AGREE
        # the point is a member that reaches the claim: nothing is lost, and nothing invented
        field = torch.zeros((1, 1, 3, 2), dtype=DOUBLE)
        field[0, 0, :, 0] = torch.from_numpy(found.point[polytope.parameters])
        reached = network(warp(picture_, threat.project(field))).numpy()[0] @ row
        assert reached == pytest.approx(found.claim, abs=1e-5)
        assert least(relaxed, row).claim <= found.claim + AGREE  # hulls of pixels hold the set


def smooth(move: tuple[float, ...], gamma: float) -> bool:
    return all(abs(a - b) <= gamma for a, b in itertools.pairwise(move))


# What is believed


def shifted(bias: float) -> tuple[Encoding, np.ndarray, Solution, torch.Tensor]:
    """bias - |x| on [-1, 1], as two ReLUs: least bias - 1, but bias - 2 by their intervals."""
    network = layered(([[1.0], [-1.0]], None), ([[-1.0, -1.0], [0.0, 0.0]], [bias, 0.0]))
    inputs = between_points([-1.0], [1.0])
    row = np.array([1.0, -1.0])
    relaxed = encoded(network, inputs)
    solution = solve(replace(relaxed.program, cost=relaxed.cost(4, row)))
    exact = encoded(network, inputs, exact=True, widen=2.0**-20)
    return exact, row, solution, torch.zeros((1, 1, 1), dtype=DOUBLE)


def test_a_sign_is_all_that_is_looked_for() -> None:
    encoding, row, relaxed, image = shifted(1.5)
    answer = Mixed()(encoding, encoding.cost(4, row), relaxed, start=image)
    assert answer.bound > 0 and answer.end == ""
    encoding, row, relaxed, image = shifted(0.5)
    answer = Mixed()(encoding, encoding.cost(4, row), relaxed, start=image)
    assert not answer.bound > 0 and answer.value < 0 and answer.point is not None


def test_what_is_within_the_margin_of_safety_is_not_believed() -> None:
    encoding, row, relaxed, image = shifted(1 + 1e-7)
    mixed = Mixed()
    assert mixed.margin_of_safety(relaxed) > 1e-6
    assert not mixed(encoding, encoding.cost(4, row), relaxed, start=image).bound > 0
    encoding, row, relaxed, image = shifted(1 + 1e-3)
    assert mixed(encoding, encoding.cost(4, row), relaxed, start=image).bound > 0


@dataclass(frozen=True)
class Says(Engine):
    """An engine that says what it is told to."""

    status: Status = Status.OPTIMAL
    claim: float = 1.0
    absent: str = ""
    has_point: bool = False

    @property
    def name(self) -> str:
        return "Says 1.0"

    def missing(self) -> str:
        return self.absent

    def solve(self, program: Program, aim: Aim = TO_THE_END) -> Solution:
        point = np.zeros_like(program.lower) if self.has_point else None
        trouble = "numbers went wrong" if self.status is Status.FAILED else ""
        return Solution(self.status, -INF, self.claim, point, None, trouble)


@pytest.mark.parametrize(
    ("engine", "end"),
    [
        (Says(Status.INFEASIBLE, INF), "no image, where there is one"),
        (Says(Status.FAILED, 1.0), "numbers went wrong"),
        (Says(Status.TIMEOUT, -1.0), "ran out of time"),
        (Says(Status.OPTIMAL, math.nan), ""),
        (Says(Status.OPTIMAL, INF), ""),
        (Says(Status.OPTIMAL, 1.0, has_point=True), ""),  # its point costs less than its bound
    ],
)
def test_trouble_proves_nothing(engine: Engine, end: str) -> None:
    encoding, row, relaxed, image = shifted(1.5)
    answer = Mixed(engine)(encoding, encoding.cost(4, row), relaxed, start=image)
    assert answer.bound == -INF or answer.bound <= 0
    assert end in answer.end


def test_a_program_must_have_a_point() -> None:
    encoding, _, _, image = shifted(1.5)
    assert Mixed().check(encoding, [image]) == ""
    assert "no image, where there is one" in Mixed(Says(Status.INFEASIBLE)).check(encoding, [image])
    assert (
        Mixed(Says(absent="there is no licence")).check(encoding, [image]) == "there is no licence"
    )
    assert Mixed(Says()).check(encoding, [image])  # no point, whatever else it says


def test_an_empty_program_is_told_when_nothing_is_cut_off() -> None:
    """With a limit on the cost it is no different from one whose points cost more."""
    encoding, row, _, image = shifted(1.5)
    low, high = encoding.program.lower.copy(), encoding.program.upper.copy()
    score = encoding.columns[4][0]
    low[score], high[score] = -11.0, -10.0
    empty = replace(encoding, program=replace(encoding.program, lower=low, upper=high))
    assert Highs().solve(replace(empty.program, cost=0 * low)).status is Status.INFEASIBLE
    assert "no image, where there is one" in Mixed().check(empty, [])
    with pytest.raises(Unsound, match="is no point of its program"):
        Mixed().check(empty, [image])
    cut = Highs().solve(replace(empty.program, cost=encoding.cost(4, row)), Aim(above=0.1))
    assert cut.status is Status.STOPPED and cut.claim == 0.1


def test_a_cost_is_cut_off_where_the_aim_says() -> None:
    encoding, row, _, _ = shifted(1.5)
    program = replace(encoding.program, cost=encoding.cost(4, row))
    assert Highs().solve(program).claim == pytest.approx(0.5, abs=AGREE)
    assert Highs().solve(program, Aim(above=0.3)).claim == 0.3
    assert Highs().solve(program, Aim(above=0.7)).claim == pytest.approx(0.5, abs=AGREE)
    found = Highs().solve(program, Aim(below=0.9))
    assert found.point is not None and program.cost @ found.point <= 0.9


def test_work_that_nobody_wants_any_more_ends() -> None:
    encoding, row, _, _ = shifted(1.5)
    program = replace(encoding.program, cost=encoding.cost(4, row))
    found = Highs().solve(program, Aim(seconds=0.0))
    assert found.status in (Status.TIMEOUT, Status.OPTIMAL)
    Highs().solve(program, Aim(cancelled=lambda: True))
