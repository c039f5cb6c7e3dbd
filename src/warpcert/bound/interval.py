"""IntervalPropagation: the cheapest bounds, layer after layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.bound.backward import over_intervals
from warpcert.bound.bounder import Bounder
from warpcert.bound.bounds import Bounds, best
from warpcert.bound.layers import bound_layers, layer_intervals
from warpcert.core.inputset import InputSet
from warpcert.core.shapes import Float
from warpcert.net import Network


@dataclass(frozen=True)
class IntervalPropagation(Bounder):
    """Every layer's interval from the last one's; margins from that of the last activation."""

    def __call__(
        self,
        network: Network,
        inputs: InputSet,
        rows: Float[Tensor, "B S classes"],
        warm: Bounds | None = None,
    ) -> Bounds:
        network = network.to(dtype=torch.float64)
        known = bound_layers(network, inputs, (), warm.layers if warm else None)
        margins = over_intervals(known, rows.to(torch.float64), len(network))
        return Bounds(layer_intervals(known), best(margins, warm))
