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
from warpcert.bound.layers import bound_layers, layer_intervals
from warpcert.bound.refine import bound_rows
from warpcert.bound.stage import Found, Stage
from warpcert.core.inputset import InputSet
from warpcert.core.shapes import Float
from warpcert.net import Network


@dataclass(frozen=True)
class Alpha(Bounder):
    """After DeepPoly, the slopes of open neurons and of margins are optimised, row by row.

    ``inner`` is how hard to try for neurons, ``outer`` for margins. Nothing is worse than
    DeepPoly's or, with a warm start, than that.
    """

    inner: Ascent = field(default_factory=lambda: Ascent(iterations=8, last_steps=20))
    outer: Ascent = field(default_factory=lambda: Ascent(iterations=30, dual_steps=30))

    def bound(
        self,
        network: Network,
        inputs: InputSet,
        rows: Float[Tensor, "B S classes"],
        warm: Bounds | None,
    ) -> Bounds:
        value = len(network)
        plain = DeepPoly()
        base = warm if warm is not None else plain.bound(network, inputs, rows, None)
        stages: list[Stage] = plain.stages(inputs) if warm is not None else []
        if self.inner.iterations:
            stages.append(self.inner)
        known = bound_layers(network, inputs, stages, base.layers)
        start = Found(base.margins, base.slopes, base.duals)
        found = bound_rows(known, inputs, rows, value, self.outer, start)
        margins = torch.maximum(best(found.bound, base), over_intervals(known, rows, value))
        return Bounds(layer_intervals(known), margins, found.slopes, found.duals)
