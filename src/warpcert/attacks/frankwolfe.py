"""FrankWolfe: go part of the way to the member that is lowest along the gradient."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.attacks.chase import Chase, Found
from warpcert.attacks.descent import Descent


@dataclass(frozen=True)
class FrankWolfe(Descent):
    """Between two members of a convex set lie others, so that nothing needs to be projected.

    The gradient is the mean of the last ones, each weighing ``momentum`` times the next. Half of
    the way is gone at the first step, 6 / (k + 12) of it after k. See `Descent` for starts
    and targets.
    """

    momentum: float = 0.75

    def descend(self, chase: Chase, v: Tensor) -> Found:
        mean = torch.zeros_like(v)
        best = Found(v, torch.full((len(v),), torch.inf, device=v.device))
        for k in range(self.steps):
            margins, _, slopes = chase.slope(v)
            best = best.better(Found(v, margins))
            mean = self.momentum * mean + (1 - self.momentum) * slopes
            v = torch.lerp(v, chase.inputs.steepest(mean).to(v), 6 / (k + 12))
        best = best.better(Found(v, chase.margins(v)))
        return chase.found(best.parameters)
