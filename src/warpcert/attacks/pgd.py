"""ProjectedGradient: step down, come back into the set, again and again."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.attacks.chase import Chase, Found
from warpcert.attacks.descent import Descent


@dataclass(frozen=True)
class ProjectedGradient(Descent):
    """Gradient descent with momentum on the margin, projected after every step.

    See `Descent` for starts and targets. A
    step goes by ``step`` times the way to the set's member that is lowest along the gradient (the
    sign of the gradient, say, smoothed for smooth fields): the mean of the last ones, each
    weighing ``momentum`` times the next. Where a tenth of all steps bring nothing, the step is
    halved, and the search goes back to the best it knows, as in Croce and Hein's Auto-PGD.
    """

    step: float = 0.5
    momentum: float = 0.75

    def descend(self, chase: Chase, v: Tensor) -> Found:
        middle = chase.inputs.sample(1)[:, 0].to(v)
        shape = (-1,) + (1,) * (v.dim() - 1)
        size = torch.full((len(v),), self.step, device=v.device)
        velocity = torch.zeros_like(v)
        best = Found(v, chase.margins(v))
        before = best.margins
        for k in range(self.steps):
            margins, _, slopes = chase.slope(v)
            best = best.better(Found(v, margins))
            if k and k % max(2, self.steps // 10) == 0:
                stuck = ~(best.margins < before)
                before = best.margins
                size = torch.where(stuck, size / 2, size)
                v = torch.where(stuck.view(shape), best.parameters, v)
            way = chase.inputs.steepest(slopes) - middle
            velocity = self.momentum * velocity + (1 - self.momentum) * way
            v = chase.inputs.project(v + size.view(shape) * velocity)
        return best.better(Found(v, chase.margins(v)))
