"""DeepPoly: back-substitution to the input for every neuron whose sign is open."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.bound.bounder import Bounder
from warpcert.bound.bounds import Bounds
from warpcert.bound.layers import as_simple_as_possible, bound_layers, layer_intervals
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
    neurons that intervals leave open are substituted. Without, intervals are not used, as in
    the paper.
    """

    intersect: bool = True

    def __call__(
        self,
        network: Network,
        inputs: InputSet,
        rows: Float[Tensor, "B S classes"],
        warm: Bounds | None = None,
    ) -> Bounds:
        network, inputs = network.to(dtype=torch.float64), as_simple_as_possible(inputs)
        layers = warm.layers if warm else None
        known = bound_layers(network, inputs, self.stages(inputs), layers, self.intersect)
        start = Found(warm.margins, {}, warm.duals) if warm else None
        stage = Substitution(self.intersect)
        found = bound_rows(known, inputs, rows.to(torch.float64), len(network), stage, start)
        margins = torch.maximum(found.bound, warm.margins) if warm else found.bound
        return Bounds(layer_intervals(known), margins, {}, found.duals)

    def stages(self, inputs: InputSet) -> list[Stage]:
        """First without duals, then, for what is still open, with the best there are."""
        full = Substitution(self.intersect)
        if not inputs.searches or not self.intersect:
            return [full]
        return [Substitution(self.intersect, steps=0), full]
