"""The search: members of input sets that change the label, each tested before it is handed out."""

from warpcert.attacks.adef import ADef
from warpcert.attacks.attacked import Attacked
from warpcert.attacks.base import SEED, Attack
from warpcert.attacks.boxed import ThroughBox
from warpcert.attacks.cascade import QUICK, STRONGEST, Cascade
from warpcert.attacks.frankwolfe import FrankWolfe
from warpcert.attacks.given import Given
from warpcert.attacks.linearised import Linearised
from warpcert.attacks.pgd import ProjectedGradient
from warpcert.attacks.search import Search
from warpcert.attacks.stadv import StAdv

__all__ = [
    "QUICK",
    "SEED",
    "STRONGEST",
    "ADef",
    "Attack",
    "Attacked",
    "Cascade",
    "FrankWolfe",
    "Given",
    "Linearised",
    "ProjectedGradient",
    "Search",
    "StAdv",
    "ThroughBox",
]
