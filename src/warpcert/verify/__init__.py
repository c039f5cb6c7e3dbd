"""The court: problems in, verdicts out."""

from warpcert.verify.bounds import bounds, check_problem
from warpcert.verify.certify import certify
from warpcert.verify.methods import METHODS
from warpcert.verify.relax import Relaxation, relax

__all__ = ["METHODS", "Relaxation", "bounds", "certify", "check_problem", "relax"]
