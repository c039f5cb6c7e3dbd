"""parallel: results as they come, and an end when nobody waits any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from warpcert.core.clock import TimeUp, left, limited
from warpcert.solve import parallel
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
    until(lambda: bool(seen))
    assert set(seen) == {"cancelled"}


def test_time_is_up_for_whoever_waits() -> None:
    seen: list[str] = []
    start = time.monotonic()
    with limited(0.2), pytest.raises(TimeUp):
        list(parallel([patient(seen)], 1))
    assert time.monotonic() - start < 5
    until(lambda: bool(seen))


def test_the_clock_goes_on_in_threads() -> None:
    with limited(100):
        ((_, seconds),) = parallel([lambda _: left()], 1)
    assert 0 < seconds <= 100


def test_an_error_is_raised_where_somebody_waits() -> None:
    def wrong(_: Cancelled) -> None:
        raise RuntimeError("it went wrong")

    with pytest.raises(RuntimeError, match="it went wrong"):
        list(parallel([wrong, wrong], 2))


def until(done: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not done():
        time.sleep(0.01)
