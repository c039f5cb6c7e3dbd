"""Networks whose verdicts are known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from warpcert import Network
from warpcert.net import Step
from warpcert.net.linear import Linear
from warpcert.net.relu import Relu
from warpcert.net.reshape import Reshape

SHAPE = (1, 4, 4)


def step_image(left: float = 0.0, right: float = 1.0) -> Tensor:
    """Two columns of one value and two of another: bent by 0.25, the inner ones change."""
    image = torch.full(SHAPE, left)
    image[..., 2:] = right
    return image


def brightness(threshold: float, classes: int = 2) -> Network:
    """Class 0 where the second column's mean is below a threshold, else class 1.

    The score of class 0 is the threshold, of class 1 the mean, of all others -1. For the step
    bent by 0.25 the mean is between 0 and 0.25.
    """
    weight = torch.zeros((classes, *SHAPE), dtype=torch.float64)
    weight[1, 0, :, 1] = 0.25
    bias = torch.full((classes,), -1.0, dtype=torch.float64)
    bias[0], bias[1] = threshold, 0.0
    return network(weight.reshape(classes, 16), bias)


def network(weight: Tensor, bias: Tensor | None, shape: tuple[int, int, int] = SHAPE) -> Network:
    size = (math.prod(shape),)
    return Network(
        shape,
        (
            Step(Reshape(shape, size), (0,), size),
            Step(Linear(weight, bias, size), (1,), (weight.shape[0],)),
        ),
    )


def deep(*layers: tuple[Sequence[Sequence[float]], Sequence[float]]) -> Network:
    """Matrices with ReLUs between them, of which the first sees the second and third column."""
    steps = [Step(Reshape(SHAPE, (16,)), (0,), (16,))]
    columns = torch.zeros((2, *SHAPE), dtype=torch.float64)
    columns[0, 0, :, 1] = columns[1, 0, :, 2] = 0.25
    steps.append(Step(Linear(columns.reshape(2, 16), None, (16,)), (1,), (2,)))
    for number, (rows, bias) in enumerate(layers):
        weight = torch.tensor(rows, dtype=torch.float64)
        out = (weight.shape[0],)
        node = Linear(weight, torch.tensor(bias, dtype=torch.float64), (weight.shape[1],))
        steps.append(Step(node, (len(steps),), out))
        if number < len(layers) - 1:
            steps.append(Step(Relu(), (len(steps),), out))
    return Network(SHAPE, tuple(steps))
