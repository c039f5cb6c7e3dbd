"""The programs: linear programs by HiGHS, and input sets that ask them."""

from warpcert.solve.polyhedral import Polyhedral
from warpcert.solve.program import Program, Solution, Solver, Status, dual_bound, solve

__all__ = ["Polyhedral", "Program", "Solution", "Solver", "Status", "dual_bound", "solve"]
