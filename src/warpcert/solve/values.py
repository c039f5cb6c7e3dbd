"""value_intervals: where every value of a network lies, given what is known of some of them."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from warpcert.core.interval import Interval
from warpcert.net import Activation, Network, affine_image


def value_intervals(
    network: Network, box: Interval, layers: Mapping[int, Interval]
) -> list[Interval]:
    """Intervals (B, ...) of all values, the input's first, in float64.

    ``layers`` are true intervals of some values, by number. Sound, because an interval is that of
    its inputs' images, see `affine_image` and `Activation.image`, cut with the one given: two true
    intervals have a point in common, so an empty cut raises `Unsound`.
    """
    values: list[Interval] = []
    for number in range(len(network) + 1):
        if not number:
            found = Interval(box.lower.to(torch.float64), box.upper.to(torch.float64))
        else:
            step = network.steps[number - 1]
            given = [values[k] for k in step.inputs]
            if isinstance(step.node, Activation):
                found = Interval(*step.node.image(given[0].lower, given[0].upper))
            else:
                found, _ = affine_image(step.node, given)
        if number in layers:
            known = layers[number]
            found = Interval(
                torch.maximum(found.lower, known.lower.to(found.lower)),
                torch.minimum(found.upper, known.upper.to(found.upper)),
            )
        values.append(found)
    return values
