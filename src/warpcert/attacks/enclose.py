"""enclose: where a network's scores lie, in exact arithmetic, for images known up to rounding."""

from __future__ import annotations

from warpcert.core.interval import Interval
from warpcert.net import Activation, Network, affine_image


def enclose(network: Network, images: Interval) -> Interval:
    """The scores (B, classes) of all images in an interval (B, C, H, W), all in float64.

    Interval by interval from step to step, see `affine_image`; values that no later step needs are
    dropped.
    """
    last = {k: number for number, step in enumerate(network, 1) for k in step.inputs}
    values: dict[int, Interval] = {0: images}
    for number, step in enumerate(network, 1):
        given = [values[k] for k in step.inputs]
        if isinstance(step.node, Activation):
            values[number] = Interval(*step.node.image(given[0].lower, given[0].upper))
        else:
            values[number], _ = affine_image(step.node, given)
        for k in set(step.inputs):
            if last[k] == number:
                del values[k]
    return values[len(network)]
