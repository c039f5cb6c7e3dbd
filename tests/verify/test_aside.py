"""Aside: what free pixels prove holds for the threat, and ends when they cannot prove it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

import warpcert as wc
from tests.flow.pictures import picture
from tests.oracle.patterns import lowest
from tests.oracle.row import lowest_row
from tests.verify.test_complete import agree, drawn, made, rows_of, tree_of
from warpcert import Status, Threat, Verdict
from warpcert.core.box import Box
from warpcert.verify.branch import Effort, garden
from warpcert.verify.branch.aside import SHARE, Aside, is_far
from warpcert.verify.branch.cell import Cell
from warpcert.verify.branch.plot import Plot
from warpcert.verify.cascade import Cascade
from warpcert.verify.complete import Complete
from warpcert.verify.docket import Docket


def aside_of(seed: int, delta: float) -> tuple[Aside, float, Tensor]:
    """The problem of a drawn network with free pixels, its exact least margin and where it is."""
    layers = drawn(seed, 6, (10, 8))
    network, image = made(layers, (1, 2, 3)), picture("random", 1, 2, 3, seed=seed)
    label, threat = int(network(image).argmax()), Threat("inf", delta, 0.1)
    whole = tree_of(image[0], label, network, threat)
    box = wc.pixel_bounds(image, threat)
    root, rows = whole.ledger.root, whole.scene.rows
    plot = Plot(network, Box(box), root.layers, rows, root.margins, Effort(), last=False)
    ends = [x[0].flatten().numpy() for x in (box.lower, box.upper)]
    worst = min((lowest(layers, row, *ends) for row in rows_of(label)), key=lambda x: x.value)
    return Aside(plot, whole.hunt), worst.value, torch.from_numpy(worst.point).view_as(image)


OPEN = [(3, 0.3), (6, 0.2), (29, 0.2), (50, 0.3), (56, 0.3)]
"""Seeds and deltas whose proof needs decisions."""


@pytest.mark.parametrize(("seed", "delta"), [*OPEN, *((seed, 0.6) for seed in range(8))])
def test_it_ends_with_what_holds_on_the_box(seed: int, delta: float) -> None:
    """Proved exactly where every image of the box has the label."""
    with torch.no_grad():
        aside, exact, _ = aside_of(seed, delta)
        for _ in range(200):
            assert float(aside.margins.min()) <= exact + 1e-9
            if aside.plot.done or aside.round():
                break
        else:
            pytest.fail("it goes on for ever")
        assert bool((aside.margins > 0).all()) == (exact > 0), exact


def test_problems_that_need_decisions() -> None:
    with torch.no_grad():
        for problem in OPEN:
            aside, exact, _ = aside_of(*problem)
            assert exact > 0 and not aside.plot.done


def test_an_image_in_the_box_ends_it() -> None:
    """One of another class, whether a field makes it or not, and of no other."""
    seen = set()
    with torch.no_grad():
        for seed in range(8):
            for delta in (0.1, 0.6):
                aside, exact, point = aside_of(seed, delta)
                assert aside.hunt.fools_box(point) == (exact < 0)
                seen.add(exact < 0)
                if exact < 0 and aside.plot.promising is not None:
                    corner = aside.plot.reduced.pixels
                    rows = aside.plot.promising[1]
                    aside.plot.promising = point.flatten()[None, corner], rows
                    before = aside.plot.nodes
                    assert aside.round() and aside.plot.nodes == before
    assert seen == {True, False}


def test_its_share_of_the_time() -> None:
    """After a head start, if it has one."""
    with torch.no_grad():
        aside = aside_of(0, 0.3)[0]
        aside.seconds = 1.0
        assert aside.due(1.01 / SHARE) and not aside.due(0.99 / SHARE)
        aside.head = 1.1
        assert aside.due(0.99 / SHARE)


@pytest.mark.parametrize("channels", [1, 2])
def test_trees_that_look_aside_say_what_is_true(
    channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every plot over free pixels set aside at once, against an integer program."""
    rounds = 0

    class Watched(Aside):
        def round(self) -> bool:
            nonlocal rounds
            rounds += 1
            return super().round()

        def due(self, elapsed: float) -> bool:
            return True

    monkeypatch.setattr(garden, "PATIENCE", 0.0)
    monkeypatch.setattr(garden, "Aside", Watched)
    monkeypatch.setattr(garden.Garden, "_cutting", lambda *_: math.inf)
    for seed in range(16):
        gamma = (0.3, 0.1, 0.05)[seed % 3]
        layers = drawn(seed, 4 * channels, (6, 5))
        network = made(layers, (channels, 1, 4))
        image = np.random.default_rng(seed).uniform(size=(channels, 4))
        bent, threat = torch.from_numpy(image)[:, None], Threat("inf", 0.4, gamma)
        label = int(network(bent[None]).argmax())
        exact = min(lowest_row(layers, image, row, 0.4, gamma)[0] for row in rows_of(label))
        docket = Docket(network, bent[None], torch.tensor([label]), threat)
        with torch.no_grad():
            Cascade([Complete(effort=Effort(trials=False))], timeout=2)(docket)
        (verdict,) = docket.verdicts()
        if verdict.status is not Status.UNKNOWN:
            agree(verdict, exact, network, bent, threat)
        else:
            assert verdict.margin <= exact + 1e-9
    assert rounds > 0


@pytest.mark.parametrize(("seed", "delta"), OPEN[:4])  # the last is proved when it is planted
def test_free_pixels_go_on_when_all_cells_are_given_up(
    seed: int, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They prove the whole, which no cell that is left does."""
    network, image = made(drawn(seed, 6, (10, 8)), (1, 2, 3)), picture("random", 1, 2, 3, seed=seed)
    label, threat = int(network(image).argmax()), Threat("inf", delta, 0.1)
    grown = tree_of(image[0], label, network, threat, trials=False)
    begin, ledger, given_up = grown.garden.begin_aside, grown.ledger, 0

    def give_up() -> None:
        nonlocal given_up
        begin()
        ledger.stopped, ledger.cells = ledger.cells, []
        given_up = len(ledger.stopped)

    monkeypatch.setattr(garden, "is_far", lambda *_: True)
    monkeypatch.setattr(grown.garden, "begin_aside", give_up)
    with torch.no_grad():
        grown.grow()
    assert given_up == 1
    assert not grown.open and bool((grown.margins > 0).all())


def test_a_digit_that_needs_no_smoothness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proved with free pixels: with them alone, and before a tree that couples them has begun."""
    images, labels = wc.load_images("mnist:3")
    network, planted = wc.load_network("mnist-convsmall-pgd"), []
    plant = garden.Garden.plant

    def watch(self: garden.Garden, cell: Cell, full: bool) -> tuple[Cell, Plot]:
        planted.append(full)
        return plant(self, cell, full)

    monkeypatch.setattr(garden.Garden, "plant", watch)
    for gamma in (math.inf, 0.1):
        verdict = wc.certify(network, images[0], int(labels[0]), Threat("inf", 0.5, gamma))
        assert isinstance(verdict, Verdict) and verdict.status is Status.CERTIFIED
    assert planted == [False, False]


def test_which_pixels_are_far() -> None:
    images = torch.zeros((1, 1, 28, 40))
    for delta, gamma, far in ((0.5, 0.1, True), (0.8, 0.1, False), (0.5, 0.01, False)):
        assert is_far(Threat("inf", delta, gamma), images) is far
    assert is_far(Threat("inf", 0.5), images) and not is_far(Threat("inf", 0.5, 0.0), images)
