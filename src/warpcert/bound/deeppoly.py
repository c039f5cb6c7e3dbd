"""DeepPoly: back-substitution to the input for every neuron whose sign is open."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.bound.backward import over_intervals
from warpcert.bound.bounder import Bounder
from warpcert.bound.bounds import Bounds, best
from warpcert.bound.layers import bound_layers, layer_intervals
from warpcert.bound.refine import bound_rows
from warpcert.bound.stage import Found, Stage
from warpcert.bound.substitution import Substitution
from warpcert.core.inputset import InputSet
from warpcert.core.shapes import Float
from warpcert.net import Network


@dataclass(frozen=True)
class DeepPoly(Bounder):
    """Lines around each activation, by DeepPoly's rules, substituted back to the input.

    With ``intersect`` every bound is the better of this one and that of intervals, and only
    neurons that intervals leave open are substituted. Without, as in the paper, neither
    intervals nor bounds known before are used. ``inner_steps`` are spent on the input set's duals
    for neurons, and on margins as many as the set itself would. Measured on two images of each of
    two networks, margins then gain 60 to 95 per cent of what five times as many steps would give.
    """

    intersect: bool = True
    inner_steps: int | None = 50

    def bound(
        self,
        network: Network,
        inputs: InputSet,
        rows: Float[Tensor, "B S classes"],
        warm: Bounds | None,
    ) -> Bounds:
        value = len(network)
        warm = warm if self.intersect else None
        layers = warm.layers if warm else None
        known = bound_layers(network, inputs, self.stages(inputs), layers, self.intersect)
        start = Found(warm.margins, {}, warm.duals) if warm else None
        found = bound_rows(known, inputs, rows, value, Substitution(self.intersect), start)
        margins = best(found.bound, warm)
        if self.intersect:
            margins = torch.maximum(margins, over_intervals(known, rows, value))
        return Bounds(layer_intervals(known), margins, {}, found.duals)

    def stages(self, inputs: InputSet) -> list[Stage]:
        """First without duals, then, for what is still open, with the best there are."""
        full = Substitution(self.intersect, self.inner_steps)
        if not inputs.searches or not self.intersect:
            return [full]
        return [Substitution(self.intersect, steps=0), full]
