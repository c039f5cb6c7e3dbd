"""Linearised: go to the member at which the network's linear approximation is lowest."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.attacks.base import Attack
from warpcert.attacks.chase import Chase, Found
from warpcert.attacks.starts import good_starts


@dataclass(frozen=True)
class Linearised(Attack):
    """Frank and Wolfe's method in the space of images.

    The gradient is taken in the image, not in the field: pixels then see all the values that they
    can have, not only those next to where they are. Where neighbours are coupled, the member is
    made of the solution that the flow's dual search ends with, after ``dual_steps``; it is a good
    start rather than an attack, so ``coupled_steps`` are few.
    """

    steps: int = 30
    restarts: int = 1
    tries: int = 50
    momentum: float = 0.75
    dual_steps: int = 100
    coupled_steps: int = 2

    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        starts = good_starts(chase, start, self.restarts, self.tries, generator)
        return start.better(chase.each(starts, self._descend))

    def _descend(self, chase: Chase, v: Tensor) -> Found:
        best = Found(v, torch.full((len(v),), torch.inf, device=v.device))
        mean = None
        for k in range(self.coupled_steps if chase.inputs.searches else self.steps):
            margins, _, slopes = chase.image_slope(v)
            best = best.better(Found(v, margins))
            mean = slopes if mean is None else torch.lerp(slopes, mean, self.momentum)
            goal = chase.inputs.minimiser(mean, self.dual_steps).to(v)
            v = torch.lerp(v, goal, min(1.0, 6 / (k + 6)))
        best = best.better(Found(v, chase.margins(v)))
        return chase.found(best.parameters)
