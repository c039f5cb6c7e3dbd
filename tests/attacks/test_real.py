"""Attacks on a network that comes with the package."""

from __future__ import annotations

import math
from functools import cache

import pytest
import torch
from torch import Tensor

import warpcert as wc
from warpcert.attacks import QUICK, STRONGEST, FrankWolfe, ProjectedGradient, Search, ThroughBox
from warpcert.attacks.chase import Chase, Found

YARDSTICK = Search(tries=120)


@cache
def pictures() -> tuple[wc.Network, Tensor, Tensor]:
    network = wc.load_network("mnist-convsmall-ibp")
    images, labels = wc.load_images("mnist:0-29")
    right = network(images).argmax(1) == labels
    return network, images[right], labels[right]


@pytest.mark.parametrize(("delta", "gamma"), [(0.5, 0.1), (1.0, math.inf), (2.0, 0.1)])
def test_descent_finds_no_less_than_trying_out(delta: float, gamma: float) -> None:
    network, images, labels = pictures()
    inputs = wc.DeformedImage(images, wc.Threat(delta=delta, gamma=gamma))
    tried = YARDSTICK(network, inputs, labels, torch.Generator().manual_seed(1))
    found = QUICK(network, inputs, labels)
    assert bool((found.fooled >= tried.fooled).all())
    assert delta < 1.0 or int(found.fooled.sum()) > int(tried.fooled.sum())
    descent = FrankWolfe(steps=20, restarts=2)(network, inputs, labels)
    assert int(descent.fooled.sum()) >= int(tried.fooled.sum())


def test_projected_gradients_find_no_less_than_trying_out() -> None:
    network, images, labels = pictures()
    inputs = wc.DeformedImage(images, wc.Threat(norm=2, delta=1.0, gamma=math.inf))
    tried = YARDSTICK(network, inputs, labels)
    found = ProjectedGradient(steps=15, restarts=2, tries=120)(network, inputs, labels)
    assert bool((found.fooled >= tried.fooled).all())
    assert float(found.margins.mean()) < float(tried.margins.mean()) - 0.5


@pytest.mark.parametrize("delta", [0.5, 1.0])
def test_free_fields_are_as_strong_as_the_box(delta: float) -> None:
    """For one channel the box is the exact set."""
    network, images, labels = pictures()
    threat = wc.Threat(delta=delta)
    descent = ProjectedGradient(steps=20, restarts=2)
    boxed = descent(network, wc.Box(wc.pixel_bounds(images, threat)), labels)
    bent = ThroughBox(descent)(network, wc.DeformedImage(images, threat), labels)
    assert torch.equal(bent.fooled, boxed.fooled)
    torch.testing.assert_close(bent.margins, boxed.margins, rtol=0, atol=1e-3)


def test_an_attack_on_the_box_goes_on_from_the_best_image() -> None:
    """Without a restart and with no step that helps, it keeps what it was given."""
    network, images, labels = pictures()
    inputs = wc.DeformedImage(images, wc.Threat(delta=0.8))
    before = ThroughBox(ProjectedGradient(steps=20, restarts=2))
    further = ThroughBox(ProjectedGradient(steps=20, restarts=1), onwards=True)
    first = before(network, inputs, labels)
    chase = Chase(network.to(dtype=torch.float32), inputs, labels)
    start = Found(first.parameters.float(), first.margins.float())
    found = further.search(chase, start, torch.Generator().manual_seed(0))
    alone = further(network, inputs, labels)
    assert bool((found.margins <= start.margins).all())
    assert float(found.margins.mean()) < float(alone.margins.mean())


def test_all_attacks_together_find_no_less_than_the_box_attack() -> None:
    """With as many steps and restarts; fewer of them miss one of these digits."""
    network, images, labels = pictures()
    inputs = wc.DeformedImage(images[:6], wc.Threat(delta=0.8))
    boxed = ProjectedGradient(steps=100, restarts=10)(network, wc.Box(inputs.box), labels[:6])
    assert bool(boxed.fooled.all())
    assert bool(STRONGEST(network, inputs, labels[:6]).fooled.all())


def test_what_fools_at_a_smaller_delta_is_found_at_a_larger_one() -> None:
    """The best field leads to another class than the one that is fooled: all rivals are tried."""
    network = wc.load_network("cifar10-convsmall-spatial")
    images, labels = wc.load_images("cifar10:14")
    for delta in (0.4, 0.8):
        inputs = wc.DeformedImage(images, wc.Threat(delta=delta))
        assert bool(STRONGEST(network, inputs, labels).fooled.all())


def test_no_certified_image_is_fooled() -> None:
    network, images, labels = pictures()
    threats = (wc.Threat(delta=0.4), wc.Threat(norm=2, delta=0.5, gamma=0.1))
    for some, threat in zip((slice(3, 8), slice(5, 7)), threats, strict=True):
        verdicts = wc.certify(network, images[some], labels[some], threat, method="deeppoly")
        assert isinstance(verdicts, list)
        proved = torch.tensor([v.status is wc.Status.CERTIFIED for v in verdicts])
        found = QUICK(network, wc.DeformedImage(images[some], threat), labels[some])
        assert bool(proved.any())
        assert not bool((proved & found.fooled).any())
        bounds = torch.tensor([v.margin for v in verdicts])
        assert bool((found.margins >= bounds - 1e-9).all())
