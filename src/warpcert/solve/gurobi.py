"""Gurobi: the commercial solver, where it is installed and licensed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpcert.core import rounding
from warpcert.core.polytope import Floats, Rows
from warpcert.solve.engine import TO_THE_END, Aim, Engine
from warpcert.solve.program import Program, Solution, Status, dual_bound, unsolved


@dataclass(frozen=True)
class Gurobi(Engine):
    """Gurobi, on one thread: ``pip install "warpcert[gurobi]"``.

    Without a licence of one's own it solves programs of up to 2000 variables and rows.
    """

    @property
    def name(self) -> str:
        import gurobipy  # noqa: PLC0415 - an extra

        return f"Gurobi {'.'.join(map(str, gurobipy.gurobi.version()))}"

    def missing(self) -> str:
        try:
            import gurobipy  # noqa: F401, PLC0415 - an extra
        except ImportError:
            return 'Gurobi is not installed: pip install "warpcert[gurobi]"'
        return ""

    def solve(self, program: Program, aim: Aim = TO_THE_END) -> Solution:
        missing = self.missing()
        if missing:
            return unsolved(program, missing)
        import gurobipy  # noqa: PLC0415 - an extra

        try:
            with (
                gurobipy.Env(params=_parameters(program, aim)) as room,
                gurobipy.Model(env=room) as model,
            ):
                return _solve(model, program, aim)
        except gurobipy.GurobiError as error:
            return unsolved(program, f"Gurobi reports an error: {' '.join(str(error).split())}")


def _parameters(program: Program, aim: Aim) -> dict[str, float]:
    """Silence, tolerances, and when to stop."""
    wanted: dict[str, float] = {
        "OutputFlag": 0,
        "Threads": 1,
        "MIPGap": 0.0,
        "FeasibilityTol": rounding.FEASIBLE,
        "IntFeasTol": rounding.FEASIBLE,
        "OptimalityTol": rounding.REDUCED if program.integral is None else rounding.FEASIBLE,
    }
    for name, limit in (
        ("TimeLimit", aim.seconds),
        ("BestBdStop", aim.above),
        ("BestObjStop", aim.below),
    ):
        if abs(limit) < math.inf:
            wanted[name] = limit
    return wanted


def _solve(model: Any, program: Program, aim: Aim) -> Solution:
    from gurobipy import GRB  # noqa: PLC0415 - an extra

    integral, bound = program.integral is not None, dual_bound(program, program.cost, None)
    kinds = np.full(len(program.cost), GRB.CONTINUOUS)
    if program.integral is not None:
        kinds[program.integral] = GRB.INTEGER
    z = model.addMVar(
        len(program.cost), lb=program.lower, ub=program.upper, obj=program.cost, vtype=kinds
    )
    parts = [
        (which, model.addMConstr(a, z, sense, end)) for which, a, sense, end in _parts(program)
    ]
    if aim.start is not None:
        z.Start = np.where(np.isfinite(aim.start), aim.start, GRB.UNDEFINED)

    def look(asked: Any, where: int) -> None:
        del where
        if aim.cancelled():
            asked.terminate()

    model.optimize(look)
    status = {
        GRB.OPTIMAL: Status.OPTIMAL,
        GRB.INFEASIBLE: Status.INFEASIBLE,
        GRB.INF_OR_UNBD: Status.INFEASIBLE,  # every variable is bounded
        GRB.TIME_LIMIT: Status.TIMEOUT,
        GRB.USER_OBJ_LIMIT: Status.STOPPED,
        GRB.INTERRUPTED: Status.STOPPED,
    }.get(model.Status, Status.FAILED)
    trouble = f"Gurobi ended with status {model.Status}" if status is Status.FAILED else ""
    point = np.array(z.X) if model.SolCount else None
    if integral:
        known = status not in (Status.INFEASIBLE, Status.FAILED)
        claim = float(model.ObjBound) if known else -math.inf
        claim = claim if abs(claim) < GRB.INFINITY else -math.inf
        return Solution(status, bound, claim, point, None, trouble)
    if status is not Status.OPTIMAL:
        return Solution(status, bound, -math.inf, point, None, trouble)
    duals: Floats = np.zeros(len(program.rows))
    for which, part in parts:
        duals[which] += part.Pi
    proved = dual_bound(program, program.cost, duals)
    return Solution(status, max(bound, proved), float(model.ObjVal), point, duals, trouble)


def _parts(program: Program) -> list[tuple[Any, Any, str, Floats]]:
    """Rows by kind: which they are, their matrix, and the end they must keep to."""
    rows = program.rows
    equal = rows.lower == rows.upper
    kinds = (
        (equal, "=", rows.lower),
        (~equal & np.isfinite(rows.lower), ">", rows.lower),
        (~equal & np.isfinite(rows.upper), "<", rows.upper),
    )
    matrix = _matrix(rows, len(program.cost))
    return [
        (which.nonzero()[0], matrix[which], sense, end[which])
        for which, sense, end in kinds
        if which.any()
    ]


def _matrix(rows: Rows, width: int) -> Any:
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - only Gurobi wants it so

    return csr_matrix((rows.values, rows.columns, rows.starts), shape=(len(rows), width))
