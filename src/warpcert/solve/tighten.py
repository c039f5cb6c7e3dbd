"""Tighten: better intervals of open neurons, by linear programs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from warpcert.core.clock import left
from warpcert.core.interval import Interval
from warpcert.core.polytope import Floats, Polytope
from warpcert.net import Activation, Network
from warpcert.solve.encoding import Encoding, Mask, encode
from warpcert.solve.lp import asker
from warpcert.solve.parallel import Cancelled, parallel, workers
from warpcert.solve.values import value_intervals


@dataclass(frozen=True)
class Tighten:
    """Up to two linear programs for each open neuron, layer after layer.

    Those whose sign is nearest to being known come first. ``seconds`` are for one program,
    ``budget`` for all of an image.
    """

    seconds: float = 5.0
    budget: float = 60.0

    def __call__(
        self,
        network: Network,
        polytope: Polytope,
        box: Interval,
        layers: Mapping[int, Interval],
    ) -> dict[int, Interval]:
        """Intervals (1, ...) of the values that activations take, nowhere wider than given.

        Sound, because both ends are proved over a program that holds every member.
        """
        end = time.monotonic() + min(self.budget, left())
        found = dict(layers)
        for source in sorted({network.steps[k - 1].inputs[0] for k in network.activations}):
            straight = not any(k <= source for k in network.activations)
            if straight and not len(polytope.rows):
                continue  # the interval of one matrix times a box is exact
            values = [one_of(x) for x in value_intervals(network, box, found)]
            bent = _bent(network, values, source)
            if not bent.any() or time.monotonic() > end:
                continue
            ends = [x.numpy().ravel().copy() for x in (values[source].lower, values[source].upper)]
            encoding = encode(network, polytope, values, source, bent)
            self._improve(encoding, source, bent, (ends[0], ends[1]), end)
            shape = (1, *values[source].lower.shape)
            found[source] = Interval(*(torch.from_numpy(x).reshape(shape) for x in ends))
        return found

    def _improve(
        self, encoding: Encoding, source: int, bent: Mask, ends: tuple[Floats, Floats], until: float
    ) -> None:
        """Improve ends of open neurons in place, several at once."""
        low, high = ends
        near = np.minimum(-low, high) / np.where(high > low, high - low, 1.0)
        todo = iter(sorted(bent.nonzero()[0].tolist(), key=lambda k: float(near[k])))

        def work(cancelled: Cancelled) -> None:
            ask = asker(encoding.program, None, cancelled)
            for k in todo:
                for sign in (1.0, -1.0) if -low[k] < high[k] else (-1.0, 1.0):
                    seconds = min(self.seconds, until - time.monotonic(), left())
                    if seconds <= 0 or cancelled():
                        return
                    row = np.zeros(len(low))
                    row[k] = sign
                    bound = ask(encoding.cost(source, row), seconds).bound
                    low[k] = max(low[k], bound) if sign > 0 else low[k]
                    high[k] = min(high[k], -bound) if sign < 0 else high[k]
                    if low[k] >= 0 or high[k] <= 0:
                        break

        for _ in parallel([work] * workers()):
            pass


def one_of(x: Interval) -> Interval:
    """The first of a batch, on the CPU."""
    return Interval(x.lower[0].cpu(), x.upper[0].cpu())


def _bent(network: Network, values: Sequence[Interval], source: int) -> Mask:
    """The entries (flat) at which some activation that takes them is bent."""
    now = values[source]
    found = torch.zeros_like(now.lower, dtype=torch.bool)
    for step in network.steps:
        if isinstance(step.node, Activation) and source in step.inputs:
            found |= step.node.bent(now.lower, now.upper)
    return found.numpy().ravel()
