"""Cascade: attacks in turn, each on the images that the ones before could not fool."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from warpcert.attacks.base import Attack
from warpcert.attacks.boxed import ThroughBox
from warpcert.attacks.chase import Chase, Found
from warpcert.attacks.frankwolfe import FrankWolfe
from warpcert.attacks.linearised import Linearised
from warpcert.attacks.pgd import ProjectedGradient
from warpcert.attacks.search import Search
from warpcert.core import rounding


@dataclass(frozen=True)
class Cascade(Attack):
    """``attacks`` in turn; each starts from the best found so far.

    An image is left alone once its margin is clearly below zero.
    """

    attacks: tuple[Attack, ...]

    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        best = start
        for attack in self.attacks:
            standing = (~(best.margins < -rounding.CLEAR)).nonzero().squeeze(1)
            if not len(standing):
                return best
            given = best.take(standing)
            found = attack.search(chase.select(standing), given, generator)
            best = best.put(standing, given.better(found))
        return best


QUICK = Cascade(
    (
        Search(tries=100),
        ThroughBox(ProjectedGradient(steps=20, restarts=1)),
        Linearised(steps=5, coupled_steps=1),
        FrankWolfe(steps=20, restarts=2),
    )
)
"""A few dozen milliseconds for a small image: an attempt before anything is bounded."""

STRONGEST = Cascade(
    (
        *QUICK.attacks,
        Search(tries=200),
        ThroughBox(ProjectedGradient(steps=30, restarts=60, tries=60)),
        ThroughBox(ProjectedGradient(steps=100, restarts=10), onwards=True),
        ThroughBox(ProjectedGradient(steps=50, restarts=2, targets=9), onwards=True),
        Linearised(steps=30, restarts=3),
        FrankWolfe(steps=50, restarts=10, tries=100),
        FrankWolfe(steps=50, restarts=3, targets=9),
        ProjectedGradient(steps=30, restarts=20),
    )
)
"""All that is known here, cheapest first.

Small networks are fooled by many starts, large ones by many steps: in the box first the ones, then
the others, from the best on.
"""
