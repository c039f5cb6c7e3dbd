"""Scip: the solver SCIP, where it is installed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpcert.core import rounding
from warpcert.core.polytope import Floats
from warpcert.solve.engine import TO_THE_END, Aim, Engine
from warpcert.solve.program import Program, Solution, Status, dual_bound, unsolved


@dataclass(frozen=True)
class Scip(Engine):
    """SCIP, on one thread, by its Python interface: ``pip install "warpcert[scip]"``."""

    @property
    def name(self) -> str:
        import pyscipopt  # noqa: PLC0415 - an extra

        return f"SCIP {pyscipopt.Model().version():g}"

    def missing(self) -> str:
        try:
            import pyscipopt  # noqa: F401, PLC0415 - an extra
        except ImportError:
            return 'SCIP is not installed: pip install "warpcert[scip]"'
        return ""

    def solve(self, program: Program, aim: Aim = TO_THE_END) -> Solution:
        missing = self.missing()
        if missing:
            return unsolved(program, missing)
        try:
            return self._solve(program, aim)
        except Exception as error:  # it has no error of its own
            return unsolved(program, f"SCIP reports an error: {' '.join(str(error).split())}")

    def _solve(self, program: Program, aim: Aim) -> Solution:
        integral, bound = program.integral is not None, dual_bound(program, program.cost, None)
        model, columns, rows = _model(program, aim)
        _watch(model, aim)
        model.optimizeNogil()
        ended = model.getStatus()
        status = _ENDS.get(ended, Status.FAILED)
        trouble = f"SCIP ended with '{ended}'" if status is Status.FAILED else ""
        point = None
        if model.getNSols():
            best = model.getBestSol()
            point = np.array([best[column] for column in columns])
        if not integral:
            duals = _duals(model, rows) if status is Status.OPTIMAL else None
            claim = model.getDualbound() if status is Status.OPTIMAL else -math.inf
            proved = dual_bound(program, program.cost, duals)
            return Solution(status, max(bound, proved), claim, point, duals, trouble)
        claim = -math.inf if status is Status.INFEASIBLE else float(model.getDualbound())
        if not abs(claim) < model.infinity():
            claim = -math.inf
        return Solution(status, bound, claim, point, None, trouble)


def _model(program: Program, aim: Aim) -> tuple[Any, list[Any], list[Any]]:
    """The program as SCIP wants it, with its variables and rows."""
    from pyscipopt import Model, quicksum  # noqa: PLC0415 - an extra

    model, integral = Model(), program.integral
    model.hideOutput()
    for name, value in (
        ("numerics/feastol", rounding.FEASIBLE),
        ("numerics/dualfeastol", rounding.REDUCED if integral is None else rounding.FEASIBLE),
        ("limits/gap", 0.0),
        ("misc/catchctrlc", False),
    ):
        model.setParam(name, value)
    for name, limit in (
        ("limits/time", aim.seconds),
        ("limits/dual", aim.above),
        ("limits/primal", aim.below),
    ):
        if abs(limit) < math.inf:
            model.setParam(name, limit)
    if integral is None:  # so that the duals are those of the rows as they are
        model.setPresolve(3)
        model.setHeuristics(3)
        model.disablePropagation()
    kinds = np.zeros(len(program.cost), dtype=np.bool_) if integral is None else integral
    columns = [
        model.addVar(lb=low, ub=high, obj=cost, vtype="I" if whole else "C")
        for low, high, cost, whole in zip(
            *(x.tolist() for x in (program.lower, program.upper, program.cost, kinds)), strict=True
        )
    ]
    rows, table = [], program.rows
    for k in range(len(table)):
        part = slice(table.starts[k], table.starts[k + 1])
        entries = zip(table.columns[part].tolist(), table.values[part].tolist(), strict=True)
        total = quicksum(value * columns[column] for column, value in entries)
        low, high = float(table.lower[k]), float(table.upper[k])
        rows.append(_row(model, total, low, high))
    if aim.start is not None:
        start = model.createPartialSol()
        for k in np.isfinite(aim.start).nonzero()[0].tolist():
            model.setSolVal(start, columns[k], float(aim.start[k]))
        model.addSol(start)
    return model, columns, rows


def _row(model: Any, total: Any, low: float, high: float) -> Any:
    """One row; one without ends, or without entries, says nothing."""
    if total.degree() == 0 or (low == -math.inf and high == math.inf):
        return None
    if low == high:
        return model.addCons(total == low)
    if low == -math.inf:
        return model.addCons(total <= high)
    if high == math.inf:
        return model.addCons(total >= low)
    return model.addCons((total <= high) >= low)


def _watch(model: Any, aim: Aim) -> None:
    """Let SCIP ask now and then whether it should go on."""
    from pyscipopt import SCIP_EVENTTYPE, Eventhdlr  # noqa: PLC0415 - an extra

    class Watch(Eventhdlr):  # type: ignore[misc]
        def eventinit(self) -> None:
            self.model.catchEvent(SCIP_EVENTTYPE.LPSOLVED, self)

        def eventexit(self) -> None:
            self.model.dropEvent(SCIP_EVENTTYPE.LPSOLVED, self)

        def eventexec(self, event: Any) -> None:
            del event
            if aim.cancelled():
                self.model.interruptSolve()

    model.includeEventhdlr(Watch(), "watch", "stops when nobody wants to know")


def _duals(model: Any, rows: list[Any]) -> Floats | None:
    """The rows' duals, for what they are worth."""
    try:
        found = [0.0 if row is None else model.getDualsolLinear(row) for row in rows]
    except Exception:  # it has no error of its own
        return None
    return np.array(found, dtype=np.float64)


_ENDS = {
    "optimal": Status.OPTIMAL,
    "gaplimit": Status.OPTIMAL,
    "infeasible": Status.INFEASIBLE,
    "timelimit": Status.TIMEOUT,
    "duallimit": Status.STOPPED,
    "primallimit": Status.STOPPED,
    "userinterrupt": Status.STOPPED,
}
