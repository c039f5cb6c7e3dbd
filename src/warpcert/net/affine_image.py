"""affine_image: what an affine node makes of intervals."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.interval import Interval
from warpcert.net.affine import Affine


def affine_image(node: Affine, given: Iterable[Interval]) -> tuple[Interval, Tensor]:
    """The interval of W x + b for x in intervals, and |W| |x| + |b|, the size of its terms.

    Sound, because W x + b is within |W| r of W c + b when every |x - c| <= r; `rounding.affine` of
    the size, and underflow, are added at both ends. NaN says that nothing is known.
    """
    given = list(given)
    centres = [x.lower / 2 + x.upper / 2 for x in given]
    radii = [torch.maximum(x.upper - c, c - x.lower) for x, c in zip(given, centres, strict=True)]
    count = radii[0].shape[0]
    both = [torch.cat([r, x.magnitude]) for r, x in zip(radii, given, strict=True)]
    spread, size = node.spread(*both).split(count)
    centre = node(*centres)
    if node.offset is not None:
        size = size + node.offset.abs()
    slack = rounding.affine(node.fan_in) * size + rounding.FAINT
    lower, upper = centre - spread - slack, centre + spread + slack
    return Interval(
        lower.nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf),
        upper.nan_to_num(nan=torch.inf, posinf=torch.inf, neginf=-torch.inf),
    ), size
