"""initialise: weights under which boxes neither grow nor vanish."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from warpcert.train.residual import Residual


def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Draw the weights of convolutions and linear layers from N(0, 2 pi / n^2), n inputs each.

    A radius is mapped by |w|, whose mean is then 2 / n: the radius before a ReLU is about twice
    the one before, and the ReLU halves it (Shi et al., "Fast Certified Robust Training with Short
    Warmup", 2021). The clean signal shrinks under such weights, so a network needs batch
    normalisation to be trained from them. Residual blocks begin as their short cut: the last
    normalisation of a body starts with weight 0, else each block would widen a box many times
    over (a 16 x 16 ResNet's scores: radius 7 in place of thousands). Drawn on the CPU: the same
    on every device.
    """
    for part in module.modules():
        if isinstance(part, nn.Conv2d | nn.Linear):
            inputs = part.weight[0].numel()
            _draw(part.weight, math.sqrt(2 * math.pi) / inputs, generator)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        if isinstance(part, Residual):
            nn.init.zeros_(part.body.get_parameter(f"{len(part.body) - 1}.weight"))


def _draw(weight: Tensor, deviation: float, generator: torch.Generator) -> None:
    with torch.no_grad():
        weight.copy_(torch.randn(weight.shape, generator=generator) * deviation)
