"""The penalty of the warm-up: nothing to say of tight and balanced layers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from warpcert.train import Bundle, Trace, build, worst_logits
from warpcert.train.normalise import Normalise
from warpcert.train.regulariser import penalty


def trace_of(radius: float, centre: list[float]) -> Trace:
    """An image of radius 1 after its normalisation, and one layer before a ReLU."""
    image = torch.zeros(1, 4)
    middle = torch.tensor([centre])
    trace = Trace()
    trace(Normalise(1), Bundle.around(image, image - 5, image + 5))
    trace(nn.Linear(4, 4), Bundle.around(image, image - 1, image + 1))
    trace(nn.ReLU(), Bundle.around(middle, middle - radius, middle + radius))
    return trace


@pytest.mark.parametrize(
    ("radius", "centre", "known"),
    [
        (1.0, [3.0, -3.0, 2.0, -2.0], 0.0),  # tight and balanced
        (2.0, [3.0, -3.0, 3.0, -3.0], 0.0),  # a ratio of a half is good enough
        (4.0, [9.0, -9.0, 9.0, -9.0], 0.5),  # a quarter is half of the goal
        (1.0, [3.0, 3.0, 3.0, 3.0], 0.0),  # all on: there is nothing to balance
        (1.0, [6.0, 6.0, 6.0, -2.0], 1 - 2 * (1 / 9) + 1 - 2 * (1 / 3)),
    ],
)
def test_by_hand(radius, centre, known):
    assert penalty(trace_of(radius, centre)).item() == pytest.approx(known)


def test_a_box_of_no_width_has_a_finite_penalty_and_gradient():
    module = build("ConvSmall", (1, 16, 16), classes=3)
    images = torch.rand(4, 1, 16, 16)
    for width in (0.0, 0.1):
        trace = Trace()
        worst_logits(module, images, images - width, images + width, torch.arange(4) % 3, trace)
        value = penalty(trace)
        gradients = torch.autograd.grad(value, list(module.parameters())[:-2], allow_unused=True)
        assert value.isfinite() and all(g is None or g.isfinite().all() for g in gradients)
    assert any(g is not None and g.any() for g in gradients)
