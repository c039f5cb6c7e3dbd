"""Hinges on intervals that do not hold zero inside: both lines are the function itself."""

from __future__ import annotations

import pytest
import torch

from warpcert.net.absolute import Abs
from warpcert.net.hinge import Hinge
from warpcert.net.leaky import LeakyRelu
from warpcert.net.relu import Relu


@pytest.mark.parametrize("node", [Relu(), Abs(), LeakyRelu(0.1), LeakyRelu(2.0)])
@pytest.mark.parametrize("ends", [(-2.0, -1.0), (-1.0, 0.0), (0.0, 1.5), (0.5, 0.5), (-0.3, -0.3)])
def test_a_known_sign_leaves_one_line(node: Hinge, ends: tuple[float, float]) -> None:
    lower, upper = (torch.tensor([x], dtype=torch.float64) for x in ends)
    below, above = node.slopes(lower, upper)
    left, right = node.sides
    assert below.item() == above.item() == (left if ends[0] < 0 else right)


@pytest.mark.parametrize("node", [Relu(), Abs(), LeakyRelu(0.1), LeakyRelu(2.0)])
def test_zero_alone_leaves_one_line_through_it(node: Hinge) -> None:
    zero = torch.zeros(1, dtype=torch.float64)
    below, above = node.slopes(zero, zero)
    assert below.item() == above.item()
