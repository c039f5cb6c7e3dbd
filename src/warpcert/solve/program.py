"""Program: a linear program, solved by HiGHS and believed only as far as it can be checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt

from warpcert.core import rounding
from warpcert.core.polytope import Floats, Polytope, Rows


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise cost . z subject to lower <= z <= upper and the rows' constraints.

    ``integral`` marks the variables that must be integers; None: there are none.
    """

    cost: Floats
    lower: Floats
    upper: Floats
    rows: Rows
    integral: npt.NDArray[np.bool_] | None = None

    @classmethod
    def over(cls, polytope: Polytope, row: Floats | None = None) -> Program:
        """Minimise <row, image> over a polytope, for a row (C, H, W); None: nothing yet."""
        cost = np.zeros_like(polytope.lower)
        if row is not None:
            cost[polytope.image] = row
        return cls(cost, polytope.lower, polytope.upper, polytope.rows)


class Status(Enum):
    """How a search ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    TIMEOUT = "timeout"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, eq=False)
class Solution:
    """What came of a program.

    ``bound`` is proved, see `dual_bound`, whatever the status. All else is the solver's word: the
    ``point`` it ended at (None: it has none), the rows' ``duals`` (None for programs with
    integers) and the ``claim``, its own lower bound. ``trouble`` says what went wrong, if anything.
    """

    status: Status
    bound: float
    claim: float
    point: Floats | None
    duals: Floats | None
    trouble: str = ""


def solve(program: Program, *, time_limit: float | None = None, threads: int = 1) -> Solution:
    """Solve one program. For many costs over one set of constraints use a `Solver`."""
    return Solver(program, time_limit=time_limit, threads=threads).solve(program.cost)


class Solver:
    """HiGHS with a program's constraints, to be asked for one cost after the other.

    Every search begins at the same vertex, where the one for the program's own cost ended: it
    satisfies the constraints whatever the cost, and an answer does not depend on earlier ones.
    ``time_limit`` is in seconds for each search; ``cancelled`` is asked at every step whether the
    answer is still wanted.
    """

    def __init__(
        self,
        program: Program,
        *,
        time_limit: float | None = None,
        threads: int = 1,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        self.program = program
        self.time_limit = math.inf if time_limit is None else time_limit
        self._highs: Any = highspy.Highs()
        for name, value in (
            ("output_flag", False),
            ("threads", threads),
            ("dual_feasibility_tolerance", rounding.REDUCED),
        ):
            self._highs.setOptionValue(name, value)
        if cancelled is not None:
            self._highs.cbSimplexInterrupt.subscribe(partial(_stop, cancelled))
        self._accepted = self._highs.passModel(as_highs(program)) != highspy.HighsStatus.kError
        self._start: Any = None

    def solve(self, cost: Floats) -> Solution:
        """Minimise another cost over the same constraints.

        The solver sees the cost times a power of two, so that its tolerances mean the same for all.
        """
        exponent = _exponent(cost)
        if not self._accepted:
            return unsolved(replace(self.program, cost=cost), "HiGHS does not take the program")
        status = self._search(np.ldexp(cost, -exponent))
        found, info = self._highs.getSolution(), self._highs.getInfo()
        integral = self.program.integral is not None
        point = np.array(found.col_value) if found.value_valid else None
        duals = None
        if found.dual_valid and not integral:
            duals = np.ldexp(np.array(found.row_dual), exponent)
        claim = info.mip_dual_bound if integral else info.objective_function_value
        if not integral and status is not Status.OPTIMAL:
            claim = -math.inf
        bound = dual_bound(self.program, cost, duals)
        return Solution(status, bound, math.ldexp(claim, exponent), point, duals)

    def add(self, rows: Rows) -> None:
        """Add rows to the constraints; from now on searches begin where the last one ended."""
        old = self.program.rows
        self.program = replace(self.program, rows=old.joined(rows))
        if self._accepted and len(rows):
            done = self._highs.addRows(
                len(rows),
                rows.lower,
                rows.upper,
                len(rows.values),
                rows.starts[:-1].astype(np.int32),
                rows.columns.astype(np.int32),
                rows.values,
            )
            self._accepted = done != highspy.HighsStatus.kError
            self._start = self._highs.getBasis()

    def _search(self, cost: Floats) -> Status:
        """Search from the vertex where all searches begin; the first one finds it."""
        if self._start is None:
            own = np.ldexp(self.program.cost, -_exponent(self.program.cost))
            status = self._run(own)
            self._start = self._highs.getBasis()
            if np.array_equal(cost, own):
                return status
        self._highs.clearSolver()
        if self._start.valid:
            self._highs.setBasis(self._start)
        return self._run(cost)

    def _run(self, cost: Floats) -> Status:
        """Run HiGHS and say how it ended."""
        highs, count = self._highs, len(cost)
        highs.changeColsCost(count, np.arange(count, dtype=np.int32), cost)
        highs.setOptionValue("time_limit", highs.getRunTime() + self.time_limit)
        if highs.run() == highspy.HighsStatus.kError:
            highs.resetGlobalScheduler(True)  # all solvers share its threads: make other ones
            if highs.run() == highspy.HighsStatus.kError:
                return Status.FAILED
        return _STATUS.get(highs.getModelStatus(), Status.FAILED)


def dual_bound(program: Program, cost: Floats, duals: Floats | None) -> float:
    """A lower bound of cost . z over a program's constraints, from any duals y of its rows.

    Sound, because cost . z = y . (A z) + (cost - A^T y) . z, where y_i (A z)_i is at least y_i
    times the row's lower end if y_i > 0, its upper end if y_i < 0, and each term of the second
    part is least at one end of z_j. A dual that would meet an infinite end is replaced by 0; the
    rounding of products and sums is taken off, underflow included; NaN gives minus infinity.
    None: no duals.
    """
    rows, (low, high) = program.rows, (program.lower, program.upper)
    y = np.zeros(len(rows)) if duals is None else duals
    if not (cost.any() or y.any()):
        return 0.0
    with np.errstate(all="ignore"):
        end = np.where(y > 0, rows.lower, rows.upper)
        y, end = np.where(np.isinf(end), 0.0 * y, y), np.where(np.isinf(end), 0.0, end)
        products, count = rows.values * y[rows.numbers], len(cost)
        reduced = cost - np.bincount(rows.columns, products, count)
        size = np.abs(cost) + np.bincount(rows.columns, np.abs(products), count)
        most = int(np.bincount(rows.columns, minlength=1).max()) + 1
        lost = rounding.summation(most) * size + rounding.underflow(most)
        terms = np.concatenate([y * end, np.minimum(reduced * low, reduced * high)])
        error = np.sum(lost * np.maximum(np.abs(low), np.abs(high))) + rounding.FAINT
        error += rounding.summation(len(terms)) * np.abs(terms).sum()
        bound = float(terms.sum() - error)
    return bound if math.isfinite(bound) else -math.inf


def unsolved(program: Program, trouble: str) -> Solution:
    """What is known of a program that no solver has solved: what its variables' ends say."""
    bound = dual_bound(program, program.cost, None)
    return Solution(Status.FAILED, bound, -math.inf, None, None, trouble)


_STATUS = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    highspy.HighsModelStatus.kTimeLimit: Status.TIMEOUT,
    highspy.HighsModelStatus.kInterrupt: Status.STOPPED,
}


def _stop(cancelled: Callable[[], bool], event: Any) -> None:
    """Stop HiGHS when nobody wants to know any more."""
    if cancelled():
        event.interrupt()


def _exponent(cost: Floats) -> int:
    """That of the power of two next above the largest entry; 0 where there is none."""
    largest = float(np.abs(cost).max(initial=0.0))
    return math.frexp(largest)[1] if 0 < largest < math.inf else 0


def as_highs(program: Program) -> Any:
    """A program as HiGHS wants it."""
    model, rows = highspy.HighsLp(), program.rows
    model.num_col_, model.num_row_ = len(program.cost), len(rows)
    model.col_cost_, model.col_lower_, model.col_upper_ = (
        program.cost,
        program.lower,
        program.upper,
    )
    model.row_lower_, model.row_upper_ = rows.lower, rows.upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = rows.starts.astype(np.int32)
    model.a_matrix_.index_ = rows.columns.astype(np.int32)
    model.a_matrix_.value_ = rows.values
    if program.integral is not None:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        model.integrality_ = [kinds[int(k)] for k in program.integral]
    return model
