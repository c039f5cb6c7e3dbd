"""Attacks within a tree keep to their share of the time."""

from __future__ import annotations

import time

import pytest
import torch

from tests.flow.pictures import picture
from tests.verify.test_complete import drawn, made, tree_of
from tests.verify.test_deepen import SEEDS, plot_of
from warpcert import Threat
from warpcert.verify.branch.hunt import SHARE, Hunt
from warpcert.verify.branch.tree import Tree


def tree() -> Tree:
    network, image = made(drawn(4, 6, (7, 5)), (1, 2, 3)), picture("random", 1, 2, 3, seed=4)
    return tree_of(image[0], int(network(image).argmax()), network, Threat("inf", 0.6))


def test_what_is_clocked_counts() -> None:
    hunt = tree().hunt
    hunt.start = time.perf_counter() - 100.0
    assert hunt.due and hunt.seconds == 0
    with hunt.clocked():
        time.sleep(0.01)
    assert 0.01 <= hunt.seconds < 1 and hunt.due
    hunt.seconds = 99.0 * SHARE
    assert hunt.due
    hunt.seconds = 102.0 * SHARE
    assert not hunt.due


@pytest.mark.parametrize("spent", [0.0, 50.0])
def test_plots_are_not_attacked_from_beyond_that(
    spent: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was promising is still there for later."""
    tried = 0

    def watched(hunt: Hunt, images: torch.Tensor) -> bool:
        nonlocal tried
        del hunt, images
        tried += 1
        return False

    monkeypatch.setattr(Hunt, "try_images", watched)
    with torch.no_grad():
        whole, plot = tree(), plot_of(SEEDS[0])[0]
        whole.hunt.start = time.perf_counter() - 100.0
        whole.hunt.seconds = spent
        assert plot.promising is not None
        whole.garden._attack(whole.ledger.root, plot)
    assert tried == (spent == 0) and (plot.promising is None) == (spent == 0)
