"""Rows as back-substitution asks them: duals come close to the hull program there, too."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from torch import Tensor

import warpcert as wc
from tests.flow.problems import hull_bound, square
from warpcert.bound import margin_rows
from warpcert.bound.backward import backward
from warpcert.bound.layers import bound_layers
from warpcert.bound.substitution import Substitution

COUNT = 3
"""Rows of each layer that are tried, each with both signs."""


@cache
def rows_of(name: str, image: int, delta: float) -> tuple[Tensor, list[Tensor]]:
    """An image, and for each layer rows (1, R, C, H, W) of neurons that are open."""
    network = wc.load_network(name)
    images, labels = wc.load_images(f"{name.split('-', maxsplit=1)[0]}:{image}")
    images = images.to(torch.float64)
    known = bound_layers(
        network, wc.DeformedImage(images, wc.Threat("inf", delta)), [Substitution()]
    )
    found = []
    for value in sorted({network.steps[k - 1].inputs[0] for k in network.activations})[1:]:
        box = known.values[value]
        open_ones = ((box.lower < 0) & (box.upper > 0)).flatten().nonzero().squeeze(1)
        chosen = open_ones[:: max(1, len(open_ones) // COUNT)][:COUNT]
        basis = torch.zeros((1, len(chosen), box.lower[0].numel()), dtype=torch.float64)
        basis[0, torch.arange(len(chosen)), chosen] = 1
        asked = torch.cat([basis, -basis], dim=1).unflatten(2, box.lower.shape[1:])
        found.append(backward(known, asked, value).rows)
    scores = margin_rows(labels, 10).to(torch.float64)[:, :COUNT]
    found.append(backward(known, scores, len(network.steps)).rows)
    return images, found


@pytest.mark.parametrize("gamma", [0.1, 0.01])
@pytest.mark.parametrize(
    ("name", "image", "delta"),
    [
        ("mnist-convsmall-ibp", 8, 0.5),
        ("mnist-convsmall-ibp", 14, 1.0),
        ("cifar10-convsmall-ibp", 4, 0.5),
    ],
)
def test_both_efforts_come_as_close_as_they_say(
    name: str, image: int, delta: float, gamma: float
) -> None:
    images, layers = rows_of(name, image, delta)
    free = wc.Threat("inf", delta)
    threat = wc.Threat("inf", delta, gamma)
    usual, thorough = wc.DeformedImage(images, threat), wc.DeformedImage(images, threat, "thorough")
    tried = 0
    for rows in layers:
        least = wc.support(images, free, rows)[0]
        found, best = (deformed.minimise(rows).bound[0] for deformed in (usual, thorough))
        for r in range(rows.shape[1]):
            size = float(rows[0, r].abs().max())  # the solver's tolerances are absolute
            most = size * hull_bound(images[0], rows[0, r] / size, square(delta), gamma)
            gain = most - float(least[r])
            if gain < 1e-3 * float(rows[0, r].abs().sum()):
                continue  # next to nothing can be gained
            tried += 1
            assert float(found[r]) >= most - 0.05 * gain
            assert float(best[r]) >= most - 0.01 * gain
    assert tried >= 5
