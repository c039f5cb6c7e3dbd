"""minimise_rows: linear programs over an encoding, one for each row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from warpcert.core.clock import left
from warpcert.core.polytope import Floats
from warpcert.solve.encoding import Encoding
from warpcert.solve.engine import Aim, Engine
from warpcert.solve.highs import Highs
from warpcert.solve.parallel import Cancelled, parallel, workers
from warpcert.solve.program import Program, Solution, Solver

Ask = Callable[[Floats, float], Solution]
"""The least of a cost, and the seconds that may be spent on it."""


def minimise_rows(
    encoding: Encoding,
    value: int,
    rows: Sequence[Floats],
    *,
    engine: Engine | None = None,
    time_limit: float = math.inf,
) -> list[Solution]:
    """What is the least of <row, value> over an encoding, for each row?

    ``time_limit`` is in seconds for each. Several are solved at once, see `workers`. Bounds are
    proved from duals, see `dual_bound`; a program that is said to be empty proves nothing.
    """
    count = min(workers(), len(rows))
    found: dict[int, Solution] = {}

    def share(first: int) -> Callable[[Cancelled], None]:
        def work(cancelled: Cancelled) -> None:
            ask = asker(encoding.program, engine, cancelled)
            for number in range(first, len(rows), count):
                if cancelled():
                    return
                seconds = max(0.0, min(time_limit, left()))
                found[number] = ask(encoding.cost(value, rows[number]), seconds)

        return work

    for _ in parallel([share(first) for first in range(count)], count):
        pass
    return [found[number] for number in range(len(rows))]


def asker(program: Program, engine: Engine | None, cancelled: Cancelled) -> Ask:
    """A way to ask an engine (None: HiGHS, which keeps the program from one cost to the next)."""
    if engine is None or isinstance(engine, Highs):
        return _Kept(program, cancelled)
    other = engine
    return lambda cost, seconds: other.solve(
        replace(program, cost=cost), Aim(seconds=seconds, cancelled=cancelled)
    )


class _Kept:
    """HiGHS, whose searches begin where the first one ended: margins of one label are alike."""

    def __init__(self, program: Program, cancelled: Cancelled) -> None:
        self._program, self._cancelled = program, cancelled
        self._solver: Solver | None = None

    def __call__(self, cost: Floats, seconds: float) -> Solution:
        if self._solver is None:
            first = replace(self._program, cost=cost)
            self._solver = Solver(first, cancelled=self._cancelled)
        self._solver.time_limit = seconds
        return self._solver.solve(cost)
