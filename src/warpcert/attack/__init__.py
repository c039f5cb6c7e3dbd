"""The search: members of input sets that change the label, each tested before it is handed out."""

from warpcert.attack.adef import ADef
from warpcert.attack.attacked import Attacked
from warpcert.attack.base import Attack
from warpcert.attack.boxed import ThroughBox
from warpcert.attack.cascade import QUICK, STRONGEST, Cascade
from warpcert.attack.frankwolfe import FrankWolfe
from warpcert.attack.linearised import Linearised
from warpcert.attack.pgd import ProjectedGradient
from warpcert.attack.search import Search
from warpcert.attack.stadv import StAdv

__all__ = [
    "QUICK",
    "STRONGEST",
    "ADef",
    "Attack",
    "Attacked",
    "Cascade",
    "FrankWolfe",
    "Linearised",
    "ProjectedGradient",
    "Search",
    "StAdv",
    "ThroughBox",
]
