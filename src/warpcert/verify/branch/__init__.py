"""Branch and bound: the field is cut and neurons are decided until nothing is open."""

from warpcert.verify.branch.effort import Effort
from warpcert.verify.branch.tree import Progress, Tree

__all__ = ["Effort", "Progress", "Tree"]
