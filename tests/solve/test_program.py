"""Programs: answers by hand, and bounds that hold whatever the solver says."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from warpcert.core.polytope import Block, Rows
from warpcert.solve import Program, Solver, Status, dual_bound, solve

INF = math.inf


def rows(matrix: list[list[float]], lower: list[float], upper: list[float]) -> Rows:
    values = np.array(matrix, dtype=np.float64)
    columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return Rows.of([Block(columns, values, np.array(lower), np.array(upper))])


def by_hand() -> Program:
    """Least -x - y with x + 2 y <= 4, 3 x + y >= 1 and x - y = 1 in [0, 3]: -3 at (2, 1)."""
    constraints = rows([[1, 2], [3, 1], [1, -1]], [-INF, 1, 1], [4, INF, 1])
    return Program(np.array([-1.0, -1.0]), np.zeros(2), np.full(2, 3.0), constraints)


def random_program(seed: int, variables: int = 12, count: int = 9) -> tuple[Program, np.ndarray]:
    """A program with rows of all kinds, and a point that satisfies it exactly: small integers."""
    rng = np.random.default_rng(seed)
    point = rng.integers(-3, 4, variables).astype(np.float64)
    matrix = rng.integers(-4, 5, (count, variables)) * (rng.random((count, variables)) < 0.6)
    at = matrix @ point
    lower, upper = at - rng.integers(0, 3, count), at + rng.integers(0, 3, count)
    lower[::3], upper[1::3] = -INF, INF
    cost = rng.normal(size=variables)
    ends = point - rng.integers(0, 3, variables), point + rng.integers(0, 3, variables)
    return Program(cost, *ends, rows(matrix.tolist(), lower.tolist(), upper.tolist())), point


def exact(program: Program, duals: np.ndarray) -> Fraction:
    """The dual function in rational arithmetic, with the duals that it may use."""
    a, total = program.rows, Fraction(0)
    reduced = [Fraction(c) for c in program.cost.tolist()]
    for i, y in enumerate(duals.tolist()):
        end = a.lower[i] if y > 0 else a.upper[i]
        if not math.isfinite(end):
            continue
        total += Fraction(y) * Fraction(float(end))
        for k in range(a.starts[i], a.starts[i + 1]):
            reduced[a.columns[k]] -= Fraction(float(a.values[k])) * Fraction(y)
    ends = zip(reduced, program.lower.tolist(), program.upper.tolist(), strict=True)
    return total + sum(min(r * Fraction(low), r * Fraction(high)) for r, low, high in ends)


# Answers


def test_a_program_by_hand() -> None:
    found = solve(by_hand())
    assert found.status is Status.OPTIMAL
    assert found.point is not None and found.duals is not None
    assert found.point == pytest.approx([2, 1])
    assert found.duals == pytest.approx([-2 / 3, 0, -1 / 3])
    assert found.claim == pytest.approx(-3)
    assert found.bound <= -3 and found.bound == pytest.approx(-3, abs=1e-12)


def test_bounds_from_duals_by_hand() -> None:
    program = by_hand()
    bound = lambda *y: dual_bound(program, program.cost, np.array(y, dtype=np.float64))  # noqa: E731
    assert bound(0, 0, 0) == pytest.approx(-6)  # the box alone
    assert bound(-1, 0, 0) == pytest.approx(-4 + 0 + 0)  # reduced costs 0 and 1
    assert bound(0, 1, 0) == pytest.approx(1 - 12 - 6)
    assert bound(0, 0, -1) == pytest.approx(-1 + 0 - 6)
    assert bound(0, 0, 1) == pytest.approx(1 - 6)
    assert bound(1, 0, 0) == pytest.approx(-6)  # that row has no lower end: as if it were 0
    assert bound(0, -5, 0) == pytest.approx(-6)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_near_the_solvers_value(seed: int) -> None:
    program, point = random_program(seed)
    found = solve(program)
    assert found.status is Status.OPTIMAL
    assert found.duals is not None and found.point is not None
    assert found.bound <= found.claim <= program.cost @ point + 1e-9
    assert found.bound == pytest.approx(found.claim, abs=1e-6)
    assert found.bound == dual_bound(program, program.cost, found.duals)
    assert found.claim == pytest.approx(program.cost @ found.point)


# Soundness


@pytest.mark.parametrize("seed", range(20))
def test_any_duals_give_a_bound(seed: int) -> None:
    program, point = random_program(seed)
    value = sum(Fraction(c) * Fraction(z) for c, z in zip(program.cost, point, strict=True))
    rng = np.random.default_rng(seed)
    for scale in (0.0, 1e-9, 1.0, 1e3, 1e9, 1e200):
        duals = scale * rng.standard_cauchy(len(program.rows))
        bound = Fraction(dual_bound(program, program.cost, duals))
        assert bound <= exact(program, duals) <= value, "unsound"
        size = 1 + np.abs(duals).sum()
        assert exact(program, duals) - bound <= Fraction(1e-11 * size), "loose"


def test_cancellation_is_allowed_for() -> None:
    # The reduced cost 0.5 - 1e16 - 1 + 1e16 is -0.5, but 0.5 when it is added up in this order.
    zeros = [0.0, 0.0, 0.0]
    program = Program(
        np.array([0.5]), np.zeros(1), np.full(1, 4.0), rows([[1.0]] * 3, zeros, zeros)
    )
    for duals in ([1e16, 1.0, -1e16], [-1e16, 1.0, 1e16], [0.1, 0.2, 0.2], [1 / 3, 1 / 6, 1e-17]):
        y = np.array(duals)
        assert Fraction(dual_bound(program, program.cost, y)) <= exact(program, y)


def test_many_small_terms_are_allowed_for() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        program, _ = random_program(int(rng.integers(1 << 30)), variables=40, count=30)
        duals = rng.normal(size=30)
        assert Fraction(dual_bound(program, program.cost, duals)) <= exact(program, duals)


def test_underflow_is_allowed_for() -> None:
    tiny = 5e-324
    constraints = rows([[tiny, 0.5], [0.25, tiny]], [0.3, -1.0], [1.0, 1.0])
    for cost in ([tiny, -tiny], [3 * tiny, tiny], [1e-300, 2e-308]):
        program = Program(np.array(cost), np.array([-0.3, 0.1]), np.array([0.7, 0.3]), constraints)
        for duals in ([tiny, tiny], [-tiny, 0.1], [1e-290, -3 * tiny], [0.0, 0.0]):
            y = np.array(duals)
            assert Fraction(dual_bound(program, program.cost, y)) <= exact(program, y)


@pytest.mark.parametrize("wrong", [math.nan, INF, -INF])
def test_duals_that_are_no_numbers_prove_nothing(wrong: float) -> None:
    program, _ = random_program(1)
    for k in range(len(program.rows)):
        duals = np.zeros(len(program.rows))
        duals[k] = wrong
        bound = dual_bound(program, program.cost, duals)
        assert bound == -INF or (math.isinf(wrong) and bound <= solve(program).claim)
    assert dual_bound(program, program.cost, np.full(len(program.rows), math.nan)) == -INF


def test_no_duals_are_zero_duals() -> None:
    program, _ = random_program(2)
    zero = np.zeros(len(program.rows))
    assert dual_bound(program, program.cost, None) == dual_bound(program, program.cost, zero)


# Many costs


def test_one_solver_answers_many_costs() -> None:
    program, _ = random_program(3, 40, 30)
    solver = Solver(program)
    for cost in np.random.default_rng(0).normal(size=(20, 40)):
        warm, alone = solver.solve(cost), Solver(program).solve(cost)
        assert warm.status is alone.status is Status.OPTIMAL
        assert warm.bound == alone.bound and warm.claim == alone.claim
        cold = solve(replace(program, cost=cost))
        assert warm.bound == pytest.approx(cold.bound, abs=1e-9)


def test_costs_of_all_sizes_are_solved_alike() -> None:
    program, _ = random_program(4, 40, 30)
    plain = solve(program)
    for exponent in (-300, -40, 40, 300):
        scaled = Solver(program).solve(np.ldexp(program.cost, exponent))
        assert scaled.bound == pytest.approx(math.ldexp(plain.bound, exponent), rel=1e-12)
        assert scaled.claim == math.ldexp(plain.claim, exponent)


def test_no_cost_is_no_value() -> None:
    program, _ = random_program(5)
    assert Solver(program).solve(0 * program.cost).bound == 0


def test_no_rows_at_all() -> None:
    program = Program(np.array([1.0, -2.0]), np.array([-1.0, 0.0]), np.ones(2), Rows.of([]))
    assert solve(program).bound == pytest.approx(-3)


def test_rows_can_be_added() -> None:
    program, _ = random_program(9, 40, 30)
    solver = Solver(replace(program, rows=part(program.rows, 0, 15)))
    first = solver.solve(program.cost)
    solver.add(part(program.rows, 15, 30))
    second = solver.solve(program.cost)
    whole = solve(program)
    assert second.status is Status.OPTIMAL and second.claim >= first.claim - 1e-9
    assert second.bound == pytest.approx(whole.bound, abs=1e-7)
    assert len(solver.program.rows) == 30


def part(whole: Rows, first: int, last: int) -> Rows:
    """Some of the rows, one after the other."""
    ends = slice(whole.starts[first], whole.starts[last])
    return Rows(
        whole.starts[first : last + 1] - whole.starts[first],
        whole.columns[ends],
        whole.values[ends],
        whole.lower[first:last],
        whole.upper[first:last],
    )


def test_rows_that_are_refused_leave_the_bound_of_the_box() -> None:
    program, _ = random_program(9)
    solver = Solver(program)
    solver.solve(program.cost)
    twice = Rows(np.array([0, 2]), np.array([0, 0]), np.ones(2), np.zeros(1), np.ones(1))
    solver.add(twice)
    found = solver.solve(program.cost)
    assert found.status is Status.FAILED and found.trouble
    assert found.point is None
    assert found.bound == pytest.approx(dual_bound(program, program.cost, None), abs=1e-9)


# Ends that are not optimal


def test_an_empty_program_is_told_but_not_believed() -> None:
    constraints = rows([[1, 1], [1, 1]], [3, -INF], [INF, 2])
    program = Program(np.ones(2), np.zeros(2), np.full(2, 3.0), constraints)
    found = solve(program)
    assert found.status is Status.INFEASIBLE
    assert found.bound == dual_bound(program, program.cost, found.duals) <= 6


def test_a_search_out_of_time_still_has_a_bound() -> None:
    program, point = random_program(6, 200, 150)
    found = solve(program, time_limit=0.0)
    assert found.status is Status.TIMEOUT
    assert -INF < found.bound <= program.cost @ point
    assert found.claim == -INF


def test_the_time_limit_is_for_each_search() -> None:
    program, _ = random_program(7, 100, 80)
    solver = Solver(program, time_limit=0.5)
    for cost in np.random.default_rng(0).normal(size=(60, 100)):
        assert solver.solve(cost).status is Status.OPTIMAL


def test_a_program_that_is_refused_has_the_bound_of_its_box() -> None:
    constraints = rows([[1e300, 1.0]], [0.0], [1.0])  # larger than the solver takes
    program = Program(np.array([1.0, -1.0]), np.zeros(2), np.ones(2), constraints)
    found = solve(program)
    assert found.status is Status.FAILED
    assert found.point is None and found.duals is None
    assert found.bound == pytest.approx(-1)


# Integers


def test_integers_by_hand() -> None:
    constraints = rows([[2, 3, 4]], [-INF], [6])
    cost, ones = np.array([-3.0, -4.0, -6.0]), np.ones(3)
    relaxed = Program(cost, 0 * ones, ones, constraints)
    whole = Program(cost, 0 * ones, ones, constraints, np.array([True, True, True]))
    assert solve(relaxed).claim == pytest.approx(-9)
    found = solve(whole)
    assert found.status is Status.OPTIMAL and found.point is not None
    assert found.point == pytest.approx([1, 0, 1])
    assert found.claim == pytest.approx(-9)
    assert found.duals is None and found.bound == pytest.approx(-13)


def test_threads_may_differ() -> None:
    program, _ = random_program(8)
    assert solve(program, threads=1).status is Status.OPTIMAL
    assert solve(program, threads=2).status is Status.OPTIMAL
    assert solve(program, threads=1).status is Status.OPTIMAL  # and leaves the threads as they were
