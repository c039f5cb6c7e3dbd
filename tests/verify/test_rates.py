"""Certified rates of a trained network on real images: what is tighter certifies no less."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

import warpcert as wc
from warpcert.bound import Alpha, Ascent, margin_rows

IMAGES, LABELS = wc.load_images("mnist:0-11")
METHODS = ("interval", "deeppoly", "alpha")


@pytest.fixture(scope="module")
def network() -> wc.Network:
    return wc.load_network("mnist-convsmall-ibp")


@pytest.mark.slow
def test_each_method_certifies_what_the_cheaper_one_does(network: wc.Network) -> None:
    threat = wc.Threat("inf", 0.5)
    margins = [wc.bounds(network, IMAGES, threat, LABELS, method).margins for method in METHODS]
    rates = [int((margin > 0).all(1).sum()) for margin in margins]
    for worse, better in itertools.pairwise(margins):
        assert bool((better >= worse).all())
    # A network of its kind certifies 40 % by the published DeepPoly, 50 % by the published MILP.
    assert 5 <= rates[0] <= rates[1] <= rates[2]
    assert bool((margins[2] > margins[1]).any(1).float().mean() > 0.9)


@pytest.mark.slow
def test_smoother_fields_certify_no_less_when_proofs_are_handed_on(network: wc.Network) -> None:
    # Images that free fields leave open, so that there is something to gain.
    images, labels = IMAGES[[8, 9]], LABELS[[8, 9]]
    rows = margin_rows(labels, 10)
    engine = Alpha(Ascent(4, last_steps=20), Ascent(10))
    warm, before = None, torch.full((2, 9), -math.inf, dtype=torch.float64)
    for gamma in (math.inf, 0.1, 0.01, 0.001):
        inputs = wc.DeformedImage(images, wc.Threat("inf", 0.5, gamma))
        found = engine(network, inputs, rows, warm)
        assert bool((found.margins >= before).all())
        if warm is not None:
            for value, interval in warm.layers.items():
                assert bool((found.layers[value].lower >= interval.lower).all())
                assert bool((found.layers[value].upper <= interval.upper).all())
        warm, before = found, found.margins
    assert warm is not None and bool((warm.margins.min(1).values > 0).any())


@pytest.mark.parametrize("gamma", [math.inf, 0.1])
def test_no_field_does_worse_than_the_bounds(network: wc.Network, gamma: float) -> None:
    threat = wc.Threat("inf", 0.5, gamma)
    layers, margins = wc.bounds(network, IMAGES[:1], threat, LABELS[:1])
    fields = threat.sample((28, 28), 40, generator=torch.Generator().manual_seed(0))
    values = network.values(wc.warp(IMAGES[:1].double().expand(40, -1, -1, -1), fields))
    for value, interval in layers.items():
        beyond = values[value] - values[value].clamp(interval.lower, interval.upper)
        assert float(beyond.abs().max()) <= 1e-12
    scores = values[-1]
    others = scores[:, [k for k in range(10) if k != int(LABELS[0])]]
    reached = scores[:, [int(LABELS[0])]] - others
    assert bool((reached >= margins - 1e-12).all())
