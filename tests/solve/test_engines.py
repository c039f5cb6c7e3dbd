"""Engines: every solver that is here answers alike, and says why where it is not."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.bound.problems import between_points, layered
from tests.bound.test_complete import drawn
from tests.bound.test_overview import FREE, LABEL, SMOOTH, lowest_member, toy
from tests.flow.pictures import OVERVIEW
from tests.oracle.patterns import lowest
from tests.solve.test_encoding import encoded
from tests.solve.test_mixed import AGREE, least, shifted
from tests.solve.test_program import by_hand, random_program, rows
from warpcert import DeformedImage, Threat
from warpcert.bound import DeepPoly, margin_rows
from warpcert.solve import (
    Aim,
    Engine,
    Mixed,
    Program,
    Status,
    encode,
    minimise_rows,
    one_of,
    value_intervals,
)
from warpcert.solve.engines import ENGINES, engine

INF = math.inf


@pytest.fixture(params=list(ENGINES))
def solver(request: pytest.FixtureRequest) -> Engine:
    found = ENGINES[request.param]
    if found.missing():
        pytest.skip(found.missing())
    return found


def test_a_program_by_hand(solver: Engine) -> None:
    found = solver.solve(by_hand())
    assert found.status is Status.OPTIMAL and found.trouble == ""
    assert found.point == pytest.approx([2, 1])
    assert found.claim == pytest.approx(-3)
    assert found.duals is not None and found.bound == pytest.approx(-3, abs=1e-9)
    assert found.bound <= -3


@pytest.mark.parametrize("seed", range(5))
def test_bounds_from_duals_are_near_the_solvers_value(solver: Engine, seed: int) -> None:
    program, point = random_program(seed)
    found = solver.solve(program)
    assert found.status is Status.OPTIMAL
    assert found.bound <= program.cost @ point + 1e-9
    assert found.bound == pytest.approx(found.claim, abs=AGREE)


def test_integers_by_hand(solver: Engine) -> None:
    constraints = rows([[2, 3, 4]], [-INF], [6])
    cost, ones = np.array([-3.0, -4.0, -5.0]), np.ones(3)
    whole = Program(cost, 0 * ones, ones, constraints, np.array([True, True, True]))
    found = solver.solve(whole)
    assert found.status is Status.OPTIMAL and found.point is not None
    assert found.claim == pytest.approx(-8, abs=AGREE)
    assert found.duals is None and found.bound == pytest.approx(-12)


def test_an_empty_program(solver: Engine) -> None:
    constraints = rows([[1, 1], [1, 1]], [3, -INF], [INF, 2])
    for integral in (None, np.array([True, False])):
        empty = Program(np.ones(2), np.zeros(2), np.full(2, 3.0), constraints, integral)
        found = solver.solve(empty)
        assert found.status is Status.INFEASIBLE and found.point is None
        assert found.claim == -INF or integral is None
        assert found.bound <= 6


@pytest.mark.parametrize("seed", [1, 2])
def test_integers_find_the_minimum_of_a_network(solver: Engine, seed: int) -> None:
    layers, random = drawn(seed, 3), np.random.default_rng(seed)
    centre, radius = random.normal(size=3), random.uniform(0, 0.7, size=3)
    network = layered(*((weight.tolist(), bias.tolist()) for weight, bias in layers))
    inputs = between_points((centre - radius).tolist(), (centre + radius).tolist())
    row = np.array([1.0, -1.0, 0.0])
    truth = lowest(layers, row, centre - radius, centre + radius).value
    exact = least(encoded(network, inputs, exact=True, widen=2.0**-20), row, solver)
    assert exact.claim == pytest.approx(truth, abs=AGREE)
    relaxed = encoded(network, inputs)
    (other,) = minimise_rows(relaxed, len(network), [row], engine=solver)
    (ours,) = minimise_rows(relaxed, len(network), [row])
    assert other.bound == pytest.approx(ours.bound, abs=AGREE) and other.bound <= truth + AGREE


def test_signs_and_starts(solver: Engine) -> None:
    mixed = Mixed(solver)
    for bias, positive in ((1.5, True), (0.5, False)):
        encoding, row, relaxed, image = shifted(bias)
        assert mixed.check(encoding, [image]) == ""
        answer = mixed(encoding, encoding.cost(4, row), relaxed, start=image)
        assert (answer.bound > 0) is positive
        assert positive or answer.value < 0


def test_stops(solver: Engine) -> None:
    encoding, row, _, _ = shifted(1.5)
    program = replace(encoding.program, cost=encoding.cost(4, row))
    assert solver.solve(program, Aim(above=0.3)).claim >= 0.3 - AGREE
    assert solver.solve(program, Aim(above=0.3)).claim <= 0.5 + AGREE
    found = solver.solve(program, Aim(below=0.9))
    assert found.point is not None and program.cost @ found.point <= 0.9 + AGREE
    timed = solver.solve(program, Aim(seconds=0.0))
    assert timed.claim <= 0.5 + AGREE
    solver.solve(program, Aim(cancelled=lambda: True))


@pytest.mark.parametrize(("name", "module"), [("scip", "pyscipopt"), ("gurobi", "gurobipy")])
def test_a_solver_that_is_not_there(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    absent = engine(name)
    assert f'pip install "warpcert[{name}]"' in absent.missing()
    found = absent.solve(by_hand())
    assert found.status is Status.FAILED and found.trouble == absent.missing()
    assert found.bound == pytest.approx(-6) and found.claim == -INF


def test_a_program_too_large_for_a_licence() -> None:
    gurobi = engine("gurobi")
    if gurobi.missing():
        pytest.skip(gurobi.missing())
    program, _ = random_program(0, 2500, 9)
    found = gurobi.solve(program)
    if found.status is Status.OPTIMAL:
        pytest.skip("Gurobi has a licence for programs of any size here")
    assert found.status is Status.FAILED and "size-limited" in found.trouble


def test_names() -> None:
    with pytest.raises(ValueError, match="solver must be one of highs, scip, gurobi, got 'cplex'"):
        engine("cplex")


@pytest.mark.parametrize(("bias", "threat"), [(0.125, FREE), (-0.125, SMOOTH)])
def test_the_overview(solver: Engine, bias: float, threat: Threat) -> None:
    """The networks of the paper's figure, by linear programs and by integers."""
    network, inputs = toy(bias), DeformedImage(OVERVIEW, threat)
    margins = margin_rows(LABEL, network.classes)
    bounds = DeepPoly()(network, inputs, margins)
    values = [one_of(x) for x in value_intervals(network, inputs.box, bounds.layers)]
    (polytope,) = inputs.polytope()
    row = margins[0, 0].numpy()
    relaxed = encode(network, polytope, values, len(network))
    exact = encode(network, polytope, values, len(network), exact=True, widen=2.0**-20)
    (linear,) = minimise_rows(relaxed, len(network), [row], engine=solver)
    whole = least(exact, row, solver)
    assert 0.125 - 1e-9 <= linear.bound <= whole.claim + AGREE
    assert whole.claim <= lowest_member(network) + AGREE
