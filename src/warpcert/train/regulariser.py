"""penalty: what keeps boxes tight and ReLUs in balance while training warms up.

From Shi et al., "Fast Certified Robust Training with Short Warmup" (2021).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from warpcert.train.normalise import Normalise
from warpcert.train.trace import Trace

_GOAL = 0.5  # ratios below this are punished
_TINY = torch.finfo(torch.float32).tiny  # 0 / 0 is 0


def penalty(trace: Trace) -> Tensor:
    """The mean over layers before a ReLU of how far their ratios are below the goal, a scalar.

    Three ratios: the mean radius of the normalised image to this layer's; and, of neurons that
    are always on and always off, the means and the spreads of their centres.
    """
    image = next(b for module, b in trace.items() if not isinstance(module, Normalise))
    first = image.radius.mean()
    parts = [
        _short(first / bundle.radius.mean().clamp(min=_TINY))
        + _balance(bundle.centre, bundle.lower > 0, bundle.upper < 0)
        for module, bundle in trace.items()
        if isinstance(module, nn.ReLU)
    ]
    return torch.stack(parts).mean()


def _balance(centre: Tensor, on: Tensor, off: Tensor) -> Tensor:
    """How far neurons on and off are apart in mean and spread; nothing where one kind lacks."""
    off_centre = (centre - centre.mean()).square()
    above, below = (centre * on).mean(), -(centre * off).mean()
    wide, narrow = (off_centre * on).mean(), (off_centre * off).mean()
    both = on.any() & off.any()
    return torch.where(both, _short(_ratio(above, below)) + _short(_ratio(wide, narrow)), 0.0)


def _ratio(a: Tensor, b: Tensor) -> Tensor:
    """The smaller part of the larger."""
    return torch.minimum(a, b) / torch.maximum(a, b).clamp(min=_TINY)


def _short(ratio: Tensor) -> Tensor:
    """By which part of the goal a ratio misses it."""
    return torch.relu(_GOAL - ratio) / _GOAL
