"""FrankWolfe: go part of the way to the member that is lowest along the gradient."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.attacks.base import Attack
from warpcert.attacks.chase import Chase, Found
from warpcert.attacks.starts import aim, good_starts


@dataclass(frozen=True)
class FrankWolfe(Attack):
    """Between two members of a convex set lie others, so that nothing needs to be projected.

    The gradient is the mean of the last ones, each weighing ``momentum`` times the next. Half of
    the way is gone at the first step, 6 / (k + 12) of it after k. See `ProjectedGradient` for
    starts and targets.
    """

    steps: int = 50
    restarts: int = 5
    tries: int = 50
    targets: int = 0
    momentum: float = 0.75

    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        starts = good_starts(chase, start, self.restarts, self.tries, generator)
        starts, targets = aim(chase, start, starts, self.targets)
        return start.better(chase.each(starts, self._descend, targets))

    def _descend(self, chase: Chase, v: Tensor) -> Found:
        mean = torch.zeros_like(v)
        best = Found(v, torch.full((len(v),), torch.inf, device=v.device))
        for k in range(self.steps):
            margins, _, slopes = chase.slope(v)
            best = best.better(Found(v, margins))
            mean = self.momentum * mean + (1 - self.momentum) * slopes
            v = torch.lerp(v, chase.inputs.steepest(mean).to(v), 6 / (k + 12))
        best = best.better(Found(v, chase.margins(v)))
        return chase.found(best.parameters)
