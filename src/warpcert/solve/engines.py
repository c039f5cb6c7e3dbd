"""engine: solvers by name."""

from __future__ import annotations

from warpcert.solve.engine import Engine
from warpcert.solve.gurobi import Gurobi
from warpcert.solve.highs import Highs
from warpcert.solve.scip import Scip

ENGINES: dict[str, Engine] = {"highs": Highs(), "scip": Scip(), "gurobi": Gurobi()}
"""Those there are; only the first comes with the package."""


def engine(name: str) -> Engine:
    """The solver of that name, installed or not."""
    if name not in ENGINES:
        raise ValueError(f"solver must be one of {', '.join(ENGINES)}, got {name!r}")
    return ENGINES[name]
