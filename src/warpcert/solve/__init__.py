"""The programs: linear programs and those with integers, by HiGHS or another solver."""

from warpcert.solve.encoding import Encoding, encode
from warpcert.solve.engine import Aim, Engine
from warpcert.solve.engines import ENGINES, engine
from warpcert.solve.highs import Highs
from warpcert.solve.lp import minimise_rows
from warpcert.solve.mixed import Mixed
from warpcert.solve.parallel import parallel, workers
from warpcert.solve.polyhedral import Polyhedral
from warpcert.solve.program import Program, Solution, Solver, Status, dual_bound, solve
from warpcert.solve.tighten import Tighten, one_of
from warpcert.solve.values import value_intervals

__all__ = [
    "ENGINES",
    "Aim",
    "Encoding",
    "Engine",
    "Highs",
    "Mixed",
    "Polyhedral",
    "Program",
    "Solution",
    "Solver",
    "Status",
    "Tighten",
    "dual_bound",
    "encode",
    "engine",
    "minimise_rows",
    "one_of",
    "parallel",
    "solve",
    "value_intervals",
    "workers",
]
