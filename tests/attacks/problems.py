"""Small networks and sets to attack."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from warpcert import Box, DeformedImage, InputSet, Interval, Network, Threat
from warpcert.net import Step
from warpcert.net.linear import Linear
from warpcert.net.relu import Relu
from warpcert.net.reshape import Reshape

DOUBLE = torch.float64


@dataclass(frozen=True, eq=False)
class Problem:
    network: Network
    inputs: InputSet
    labels: Tensor


THREATS = {
    f"{norm} {gamma:g} {border}": Threat(norm, 1.2, gamma, border)
    for norm in (1, 2, math.inf)
    for gamma in (0.0, 0.05, math.inf)
    for border in ("clamp", "inside")
}
NAMES = ["box", "1 0 clamp", "1 0.05 inside", "2 0.05 clamp", "2 inf inside"]
NAMES += ["inf 0 inside", "inf 0.05 clamp", "inf inf clamp"]
FEW = ["box", "2 0.05 clamp"]


@cache
def problem(name: str) -> Problem:
    """Three random images with two channels, labelled by a random network with four classes."""
    pixels = torch.rand((3, 2, 6, 5), generator=torch.Generator().manual_seed(1))
    if name == "box":
        low, high = (pixels - 0.1).clamp(min=0), (pixels + 0.1).clamp(max=1)
        inputs: InputSet = Box(Interval(low, high))
    else:
        inputs = DeformedImage(pixels, THREATS[name])
    network = random_network((2, 6, 5))
    return Problem(network, inputs, network(pixels).argmax(1))


def random_network(shape: tuple[int, int, int], classes: int = 4, seed: int = 0) -> Network:
    """Two matrices with ReLUs between them."""
    generator = torch.Generator().manual_seed(seed)
    size = math.prod(shape)
    inner = torch.randn((12, size), generator=generator, dtype=DOUBLE) / math.sqrt(size)
    outer = torch.randn((classes, 12), generator=generator, dtype=DOUBLE)
    return layered(shape, (inner, None), (outer, None))


def layered(shape: tuple[int, int, int], *layers: tuple[Tensor, Tensor | None]) -> Network:
    """Matrices and biases with ReLUs between them."""
    size = math.prod(shape)
    steps = [Step(Reshape(shape, (size,)), (0,), (size,))]
    for number, (weight, bias) in enumerate(layers):
        out = (weight.shape[0],)
        steps.append(Step(Linear(weight, bias, (weight.shape[1],)), (len(steps),), out))
        if number < len(layers) - 1:
            steps.append(Step(Relu(), (len(steps),), out))
    return Network(shape, tuple(steps))


def against(rows: Tensor, threshold: float = 0.0) -> Network:
    """Two classes, with the margin <row, image> - threshold for class 0; row (C, H, W)."""
    weight = torch.stack([rows.flatten(), torch.zeros(rows.numel(), dtype=DOUBLE)])
    channels, height, width = rows.shape
    return layered(
        (channels, height, width), (weight, torch.tensor([0.0, threshold], dtype=DOUBLE))
    )
