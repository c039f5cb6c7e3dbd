"""enclose: where a network's scores lie, in exact arithmetic, for images known up to rounding."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.interval import Interval
from warpcert.net import Activation, Affine, Network


def enclose(network: Network, images: Interval) -> Interval:
    """The scores (B, classes) of all images in an interval (B, C, H, W), all in float64.

    Interval by interval from step to step: an affine step moves by at most |W| r when its inputs
    move by r, and is off by `rounding.affine` of the size of its terms.
    """
    last = {k: number for number, step in enumerate(network, 1) for k in step.inputs}
    values: dict[int, Interval] = {0: images}
    for number, step in enumerate(network, 1):
        given = [values[k] for k in step.inputs]
        if isinstance(step.node, Activation):
            values[number] = Interval(*step.node.image(given[0].lower, given[0].upper))
        else:
            values[number] = _affine(step.node, given)
        for k in set(step.inputs):
            if last[k] == number:
                del values[k]
    return values[len(network)]


def _affine(node: Affine, given: list[Interval]) -> Interval:
    centres = [x.lower / 2 + x.upper / 2 for x in given]
    radii = [torch.maximum(x.upper - c, c - x.lower) for x, c in zip(given, centres, strict=True)]
    sizes = [torch.maximum(x.lower.abs(), x.upper.abs()) for x in given]
    size = node.spread(*sizes)
    if node.offset is not None:
        size = size + node.offset.abs()
    away = node.spread(*radii) + (rounding.affine(node.fan_in) * size + rounding.FAINT)
    centre = node(*centres)
    return Interval(_known(centre - away, -torch.inf), _known(centre + away, torch.inf))


def _known(end: Tensor, unknown: float) -> Tensor:
    """NaN as the end that says nothing."""
    return end.nan_to_num(nan=unknown, posinf=torch.inf, neginf=-torch.inf)
