"""Bound a network's layers one after the other, each with the bands of those before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from warpcert.bound.known import Known
from warpcert.bound.refine import everywhere, open_entries, refine
from warpcert.bound.stage import Stage
from warpcert.core.inputset import InputSet
from warpcert.core.interval import Interval
from warpcert.net import Affine, Network


def bound_layers(
    network: Network,
    inputs: InputSet,
    stages: Sequence[Stage] = (),
    warm: Mapping[int, Interval] | None = None,
    intersect: bool = True,
) -> Known:
    """Intervals of all values; those that activations take are refined by stages.

    ``warm`` are true intervals of some of them. With ``intersect`` only entries that intervals
    leave open are refined; without, all are, and nothing is kept of their intervals.
    """
    double = torch.float64
    box = inputs.box
    known = Known(network, [Interval(box.lower.to(double), box.upper.to(double))])
    straight = _straight(network) if inputs.boxed else frozenset()
    for value in range(len(network) + 1):
        if value:
            known.advance()
        if not any(value in network.steps[k - 1].inputs for k in network.activations):
            continue
        if warm is not None and value in warm:
            known.tighten(value, warm[value].lower, warm[value].upper)
        if not intersect:
            refine(known, inputs, value, stages, everywhere(known, value), intersect=False)
        elif value not in straight:
            refine(known, inputs, value, stages, open_entries(known, value))
    return known


def layer_intervals(known: Known) -> dict[int, Interval]:
    """The intervals of all values that activations take."""
    taken = {known.network.steps[k - 1].inputs[0] for k in known.network.activations}
    return {value: known.values[value] for value in sorted(taken)}


def _straight(network: Network) -> frozenset[int]:
    """Values that are one matrix times the input: on a box their intervals are exact.

    Before the matrix there may be steps that treat each entry alone, such as a normalisation.
    """
    alone, found = {0}, {0}
    for number, step in enumerate(network.steps, 1):
        if isinstance(step.node, Affine) and len(step.inputs) == 1 and step.inputs[0] in alone:
            found.add(number)
            if step.node.fan_in == step.node.fan_out == 1:
                alone.add(number)
    return frozenset(found)
