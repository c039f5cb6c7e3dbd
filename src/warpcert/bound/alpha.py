"""Alpha: DeepPoly with the slopes chosen by ascent."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from warpcert.bound.ascent import Ascent
from warpcert.bound.backward import over_intervals
from warpcert.bound.bounder import Bounder
from warpcert.bound.bounds import Bounds, best
from warpcert.bound.deeppoly import DeepPoly
from warpcert.bound.layers import as_simple_as_possible, bound_layers, layer_intervals
from warpcert.bound.refine import bound_rows
from warpcert.bound.stage import Found, Stage
from warpcert.core.inputset import InputSet
from warpcert.core.shapes import Float
from warpcert.net import Network


@dataclass(frozen=True)
class Alpha(Bounder):
    """After DeepPoly, the slopes of open neurons and of margins are optimised, row by row.

    ``inner`` is how hard to try for neurons, ``outer`` for margins. Nothing is ever worse than
    DeepPoly's, or than what it starts from.
    """

    inner: Ascent = field(default_factory=lambda: Ascent(iterations=8))
    outer: Ascent = field(default_factory=lambda: Ascent(iterations=30))

    def __call__(
        self,
        network: Network,
        inputs: InputSet,
        rows: Float[Tensor, "B S classes"],
        warm: Bounds | None = None,
    ) -> Bounds:
        network, inputs = network.to(dtype=torch.float64), as_simple_as_possible(inputs)
        rows, value = rows.to(torch.float64), len(network)
        plain = DeepPoly()
        base = warm if warm is not None else plain(network, inputs, rows)
        stages: list[Stage] = plain.stages(inputs) if warm is not None else []
        if self.inner.iterations:
            stages.append(self.inner)
        known = bound_layers(network, inputs, stages, base.layers)
        start = Found(base.margins, base.slopes, base.duals)
        found = bound_rows(known, inputs, rows, value, self.outer, start)
        margins = torch.maximum(best(found.bound, base), over_intervals(known, rows, value))
        return Bounds(layer_intervals(known), margins, found.slopes, found.duals)
