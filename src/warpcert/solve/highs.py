"""Highs: the solver that comes with the package."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from warpcert.core import rounding
from warpcert.solve.engine import TO_THE_END, Aim, Engine
from warpcert.solve.program import (
    Program,
    Solution,
    Solver,
    Status,
    as_highs,
    dual_bound,
    unsolved,
)


@dataclass(frozen=True)
class Highs(Engine):
    """HiGHS, on one thread."""

    @property
    def name(self) -> str:
        return f"HiGHS {highspy.Highs().version()}"

    def missing(self) -> str:
        return ""

    def solve(self, program: Program, aim: Aim = TO_THE_END) -> Solution:
        if program.integral is None:
            limit = None if aim.seconds == math.inf else aim.seconds
            solver = Solver(program, time_limit=limit, cancelled=aim.cancelled)
            return solver.solve(program.cost)
        return _Mixed(program, aim).solution()


class _Mixed:
    """One search with integers."""

    def __init__(self, program: Program, aim: Aim) -> None:
        self.program, self.aim = program, aim
        self.highs: Any = highspy.Highs()
        for name, value in (
            ("output_flag", False),
            ("threads", 1),
            ("time_limit", aim.seconds),
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", rounding.FEASIBLE),
            ("mip_feasibility_tolerance", rounding.FEASIBLE),
            ("primal_feasibility_tolerance", rounding.FEASIBLE),
            ("objective_target", aim.below),
            ("objective_bound", aim.above),  # what costs more is not looked at
        ):
            self.highs.setOptionValue(name, value)

    def solution(self) -> Solution:
        """Search, and say what came of it."""
        highs, program = self.highs, self.program
        if highs.passModel(as_highs(program)) == highspy.HighsStatus.kError:
            return unsolved(program, "HiGHS does not take the program")
        self._begin()
        highs.cbMipInterrupt.subscribe(self._look)
        if highs.run() == highspy.HighsStatus.kError:
            highs.resetGlobalScheduler(True)  # all solvers of a thread share its helpers
            if highs.run() == highspy.HighsStatus.kError:
                return unsolved(program, "HiGHS reports an error")
        info, found, ended = highs.getInfo(), highs.getSolution(), highs.getModelStatus()
        status = _ENDS.get(ended, Status.FAILED)
        bound = dual_bound(program, program.cost, None)
        if status is Status.INFEASIBLE and self.aim.above < math.inf:
            return Solution(Status.STOPPED, bound, self.aim.above, None, None)
        trouble = ""
        if status is Status.FAILED:
            trouble = f"HiGHS ended with '{highs.modelStatusToString(ended)}'"
        claim = info.mip_dual_bound if status is not Status.INFEASIBLE else -math.inf
        claim = -math.inf if math.isnan(claim) else min(claim, self.aim.above)
        point = np.array(found.col_value) if found.value_valid and len(found.col_value) else None
        return Solution(status, bound, claim, point, None, trouble)

    def _begin(self) -> None:
        """Hand over the point to start from, where it says something."""
        if self.aim.start is None:
            return
        known = np.isfinite(self.aim.start).nonzero()[0].astype(np.int32)
        self.highs.setSolution(len(known), known, self.aim.start[known])

    def _look(self, event: Any) -> None:
        """Stop once enough is proved, or nobody wants to know any more."""
        if event.data_out.mip_dual_bound > self.aim.above or self.aim.cancelled():
            event.interrupt()


_ENDS = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    highspy.HighsModelStatus.kTimeLimit: Status.TIMEOUT,
    highspy.HighsModelStatus.kObjectiveTarget: Status.STOPPED,
    highspy.HighsModelStatus.kInterrupt: Status.STOPPED,
}
