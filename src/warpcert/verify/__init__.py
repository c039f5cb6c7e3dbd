"""The court: problems in, verdicts out."""

from warpcert.verify.attack import attack
from warpcert.verify.bounds import bounds
from warpcert.verify.branch import Proof
from warpcert.verify.certify import certify
from warpcert.verify.check import check_proof
from warpcert.verify.methods import METHODS
from warpcert.verify.problem import check_problem
from warpcert.verify.relax import Relaxation, relax

__all__ = [
    "METHODS",
    "Proof",
    "Relaxation",
    "attack",
    "bounds",
    "certify",
    "check_problem",
    "check_proof",
    "relax",
]
