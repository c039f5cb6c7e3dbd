"""parallel: results as they come, and an end when nobody waits any more."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from tests.solve.test_program import random_program
from warpcert.core.clock import TimeUp, left, limited
from warpcert.solve import Program, Solver, Status, parallel, solve
from warpcert.solve.parallel import Cancelled


def test_every_call_is_made_once() -> None:
    def square(k: int, _: Cancelled) -> int:
        return k * k

    calls = [partial(square, k) for k in range(20)]
    assert dict(parallel(calls, 3)) == {k: k * k for k in range(20)}
    assert dict(parallel(calls[:1], 3)) == {0: 0}
    assert not list(parallel([], 3))


def test_calls_begin_in_order_and_side_by_side() -> None:
    both = threading.Barrier(2, timeout=10)
    assert dict(parallel([lambda _: both.wait() >= 0] * 2, 2)) == {0: True, 1: True}
    order: list[int] = []

    def enter(k: int, _: Cancelled) -> None:
        order.append(k)

    for _ in parallel([partial(enter, k) for k in range(9)], 1):
        pass
    assert order == list(range(9))


def patient(seen: list[str]) -> Callable[[Cancelled], str]:
    def call(cancelled: Cancelled) -> str:
        end = time.monotonic() + 20
        while not cancelled() and time.monotonic() < end:
            time.sleep(0.01)
        seen.append("cancelled" if cancelled() else "done")
        return "slow"

    return call


def test_what_is_not_wanted_is_told_so() -> None:
    seen: list[str] = []
    for _, result in parallel([lambda _: "quick", patient(seen), patient(seen)], 2):
        assert result == "quick"
        break
    assert set(seen) == {"cancelled"}  # and waited for


def test_time_is_up_for_whoever_waits() -> None:
    seen: list[str] = []
    start = time.monotonic()
    with limited(0.2), pytest.raises(TimeUp):
        list(parallel([patient(seen)], 1))
    assert time.monotonic() - start < 5
    assert seen == ["cancelled"]


def test_the_clock_goes_on_in_threads() -> None:
    with limited(100):
        ((_, seconds),) = parallel([lambda _: left()], 1)
    assert 0 < seconds <= 100


def test_an_error_is_raised_where_somebody_waits() -> None:
    def wrong(_: Cancelled) -> None:
        raise RuntimeError("it went wrong")

    with pytest.raises(RuntimeError, match="it went wrong"):
        list(parallel([wrong, wrong], 2))


# Solvers in threads


def slow_program() -> Program:
    """A linear program that takes some tenths of a second."""
    return random_program(0, 400, 400)[0]


def test_python_goes_on_while_a_solver_works() -> None:
    """Solvers compute outside of Python, so threads are side by side."""
    solver, waits = Solver(slow_program()), []

    def work(_: Cancelled) -> float:
        start = time.monotonic()
        assert solver.solve(solver.program.cost).status is Status.OPTIMAL
        return time.monotonic() - start

    def look(cancelled: Cancelled) -> None:
        last = time.monotonic()
        while not cancelled():
            time.sleep(0.001)
            waits.append(time.monotonic() - last)
            last = time.monotonic()

    number, seconds = next(iter(parallel([work, look], 2)))
    assert number == 0 and seconds is not None and max(waits) < seconds / 2


def test_a_linear_program_that_nobody_wants_any_more_ends() -> None:
    program = slow_program()
    found = Solver(program, cancelled=lambda: True).solve(program.cost)
    assert found.status is Status.STOPPED and found.claim == -math.inf
    assert found.bound <= solve(program).bound
