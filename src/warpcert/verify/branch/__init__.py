"""Branch and bound: the field is cut and neurons are decided until nothing is open."""

from warpcert.verify.branch.effort import PLAIN, Effort
from warpcert.verify.branch.proof import Proof
from warpcert.verify.branch.tree import Tree

__all__ = ["PLAIN", "Effort", "Proof", "Tree"]
