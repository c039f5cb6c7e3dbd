"""IntervalPropagation: the cheapest bounds, layer after layer."""

from __future__ import annotations

from dataclasses import dataclass

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

    def bound(
        self,
        network: Network,
        inputs: InputSet,
        rows: Float[Tensor, "B S classes"],
        warm: Bounds | None,
    ) -> Bounds:
        known = bound_layers(network, inputs, (), warm.layers if warm else None)
        margins = over_intervals(known, rows, len(network))
        return Bounds(layer_intervals(known), best(margins, warm))
