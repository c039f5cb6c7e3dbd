"""The court: problems in, verdicts out."""

from warpcert.verify.attack import attack
from warpcert.verify.bounds import bounds
from warpcert.verify.certify import certify
from warpcert.verify.methods import METHODS
from warpcert.verify.problem import check_problem
from warpcert.verify.relax import Relaxation, relax

__all__ = ["METHODS", "Relaxation", "attack", "bounds", "certify", "check_problem", "relax"]
