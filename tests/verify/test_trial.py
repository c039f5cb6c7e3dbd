"""Trees that try cuts by intervals: what they look at is right, and no part of a field is lost."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import warpcert as wc
from tests.flow.pictures import draw, picture
from tests.oracle.row import lowest_row
from tests.verify.networks import network as linear
from tests.verify.test_complete import DELTAS, GAMMAS, NORMS, agree, drawn, made, rows_of, tree_of
from warpcert import DeformedImage, Network, Status, Threat, Verdict
from warpcert.bound import IntervalPropagation, margin_rows
from warpcert.core.interval import Interval
from warpcert.flow import Region
from warpcert.flow.split import split, whole
from warpcert.verify.branch import Tree, tree
from warpcert.verify.branch.cell import Cell, meet
from warpcert.verify.branch.glance import Glance
from warpcert.verify.branch.plot import Plot
from warpcert.verify.branch.trial import Trial


@pytest.fixture(autouse=True)
def trying() -> Iterator[None]:
    """Trees here use intervals alone on cells, whatever lines would say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "LINEAR", 0.0)
        patch.setattr(tree, "MOST", math.inf)
        yield


def convolutional(channels: int, activation: nn.Module) -> Network:
    torch.manual_seed(channels)
    module = nn.Sequential(
        nn.Conv2d(channels, 3, 3, stride=2, padding=1), activation, nn.Flatten(), nn.Linear(27, 3)
    )
    return Network.from_module(module.eval(), (channels, 6, 6))


def parts_of(threat: Threat, pixels: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """The cells of a 6x6 image cut at pixels one after the other."""
    lower, upper, _ = whole(threat, (6, 6))
    for pixel in pixels:
        at, axes = (torch.tensor([x]).expand(len(lower), 2) for x in (pixel, (True, False)))
        lower, upper, _ = split(threat, lower, upper, at, axes)
    return lower, upper


@pytest.mark.parametrize("activation", [nn.ReLU(), nn.LeakyReLU(0.1), nn.Sigmoid()])
@pytest.mark.parametrize(("channels", "delta"), [(1, 0.5), (3, 1.7)])
def test_a_glance_sees_what_intervals_prove(
    channels: int, delta: float, activation: nn.Module
) -> None:
    network, threat = convolutional(channels, activation), Threat("inf", delta, 0.1)
    image = picture("random", channels, 6, 6, seed=1)
    lower, upper = parts_of(threat, [(2, 3), (4, 1)])
    rows = margin_rows(torch.tensor([1]), 3).double()
    region = Region(math.inf, delta, lower[:, None], upper[:, None])
    inputs = DeformedImage(
        image.expand(len(lower), -1, -1, -1), Threat("inf", delta), region=region
    )
    proved = IntervalPropagation()(network, inputs, rows.expand(len(lower), -1, -1)).margins
    glance = Glance(network, image, rows)
    pixels = glance.pixels(lower.float(), upper.float())
    torch.testing.assert_close(glance(pixels, {}).double(), proved, atol=1e-4, rtol=1e-4)
    moved = torch.rand(lower.shape[:3], generator=draw(0)) < 0.5
    ends = (x.where(moved[..., None], y) for x, y in ((lower, lower[:1]), (upper, upper[:1])))
    before = Interval(*(x[:1].expand_as(x) for x in (pixels.lower, pixels.upper)))
    again = glance.changed(before, moved, *(x.float() for x in ends))
    mixed = (x.where(moved[:, None], x[:1]) for x in (pixels.lower, pixels.upper))
    for got, wanted in zip((again.lower, again.upper), mixed, strict=True):
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("tries", [500, 1])
@pytest.mark.parametrize("gamma", [0.0, 0.02, 0.1, math.inf])
def test_the_best_cut_is_the_best(gamma: float, tries: int) -> None:
    """Of all pixels and axes: none leaves less to do, by bounds that are proved.

    Of the whole threat with few tries, too, unless the first ones bring something.
    """
    network, threat = convolutional(1, nn.ReLU()), Threat("inf", 0.5, gamma)
    image = picture("random", 1, 6, 6, seed=2)
    rows = margin_rows(network(image.double()).argmax(1), 3).double()
    lower, upper, _ = whole(threat, (6, 6))
    cell = Cell(lower[0], upper[0], {}, rows.new_full((2,), -1.0))
    trial = Trial(threat, Glance(network, image, rows), tries)
    (tried,) = trial([cell], refined=False)

    def worst(at: Tensor, axes: Tensor) -> float:
        parts = split(threat, lower, upper, at, axes)
        inputs = DeformedImage(
            image.expand(len(parts.lower), -1, -1, -1),
            Threat("inf", 0.5),
            region=parts.region(threat),
        )
        margins = IntervalPropagation()(network, inputs, rows.expand(len(parts.lower), -1, -1))
        gaps = (-margins.margins).clamp(min=0)
        return float(torch.exp2(3 * (gaps.amax(1) + 0.05 * gaps.sum(1)) / start).sum())

    margins = IntervalPropagation()(network, DeformedImage(image, Threat("inf", 0.5)), rows).margins
    gaps = (-margins).clamp(min=0)
    start = float(gaps.amax() + 0.05 * gaps.sum())
    assert start > 0
    prices = {}
    for row in range(6):
        for column in range(6):
            for axis in (0, 1):
                axes = torch.tensor([[axis == 0, axis == 1]])
                prices[(row, column), axis] = worst(torch.tensor([[row, column]]), axes)
    best = prices[tried.pixel, tried.axis]
    poor = 1.2 * 2**3
    assert (
        best <= min(prices.values()) * 1.01
        or min(prices.values()) > poor
        or (tries == 1 and best < poor)
    )
    assert len(trial.cut([cell], [tried]).lower) == 2


@pytest.mark.parametrize("tries", [1, 100])
def test_of_the_whole_threat_all_cuts_are_tried_where_the_first_bring_nothing(tries: int) -> None:
    """All that counts is one free pixel, which is not among those far apart that come first."""
    image, threat = picture("random", 1, 6, 6, seed=2), Threat("inf", 0.5)
    weight = torch.zeros((2, 36), dtype=torch.float64)
    weight[1, 4 * 6 + 4] = 1.0
    bias = torch.tensor([float(image[0, 0, 4, 4]), 0.0], dtype=torch.float64)
    glance = Glance(linear(weight, bias, (1, 6, 6)), image, margin_rows(torch.tensor([0]), 2))
    lower, upper, _ = whole(threat, (6, 6))
    cell = Cell(lower[0], upper[0], {}, torch.tensor([-1.0]))
    (tried,) = Trial(threat, glance, tries)([cell], refined=False)
    assert tried.pixel == (4, 4)


def test_one_cut_can_be_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the right pixel of 28 x 28, where others leave thousands of cells."""
    images, labels = wc.load_images("mnist:50")
    threat = Threat("inf", 0.5, 0.1)
    grown = tree_of(images[0], int(labels), wc.load_network("mnist-convsmall-ibp"), threat)
    silent(grown)
    monkeypatch.setattr(tree, "LATER", math.inf)
    count, part = 0, grown.ledger.part

    def counted(*known: object) -> None:
        nonlocal count
        count += 1
        part(*known)  # type: ignore[arg-type]

    monkeypatch.setattr(grown.ledger, "part", counted)
    with torch.no_grad():
        grown.grow()
    assert grown.open == 0 and bool((grown.margins > 0).all())
    assert count == 2


@given(
    seed=st.integers(0, 10**6),
    norm=NORMS,
    delta=DELTAS,
    gamma=GAMMAS,
    channels=st.sampled_from([1, 3]),
)
@settings(max_examples=8)
def test_images_of_one_row(
    seed: int, norm: object, delta: float, gamma: float, channels: int
) -> None:
    """What cells cut by intervals prove is true, by an integer program that is exact."""
    layers = drawn(seed, 4 * channels, (4,))
    network = made(layers, (channels, 1, 4))
    image = np.random.default_rng(seed).uniform(size=(channels, 4))
    bent = torch.from_numpy(image)[:, None]
    label, threat = int(network(bent[None]).argmax()), Threat(norm, delta, gamma)  # type: ignore[arg-type]
    exact = min(lowest_row(layers, image, row, delta, gamma)[0] for row in rows_of(label))
    verdict = wc.certify(network, bent, label, threat, "complete", timeout=1)
    assert isinstance(verdict, Verdict)
    if verdict.status is Status.UNKNOWN:
        assert verdict.margin <= exact + 1e-9
    else:
        agree(verdict, exact, network, bent, threat)


def silent(grown: Tree) -> None:
    """No attack ends the tree."""
    grown.hunt.try_fields = lambda fields: False  # type: ignore[method-assign]
    grown.hunt.try_hard = lambda: False  # type: ignore[method-assign]


@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_cells_hold_every_field_and_what_is_known_of_them(norm: object) -> None:
    """Closed or open, before and after the neurons of the whole threat are bounded."""
    network, threat = convolutional(1, nn.ReLU()), Threat(norm, 0.6, 0.1)  # type: ignore[arg-type]
    image = picture("random", 1, 6, 6, seed=4)
    label = int(network(image.double()).argmax())
    grown = tree_of(image[0], label, network.to(dtype=torch.float64), threat, slices=2)
    silent(grown)
    closed: list[Cell] = []
    close = grown.ledger.close

    def noted(cell: Cell, plot: Plot | None = None) -> None:
        closed.append(cell)
        close(cell, plot)

    grown.ledger.close = noted  # type: ignore[method-assign]
    with torch.no_grad():
        grown._begin()
        for _ in range(6):  # batches of two, so that others wait
            grown._slice()
        before = list(grown.ledger.cells)
        grown._strengthen()
    assert before and not grown.linear
    assert all(cell.proved for cell in closed)
    cells = [*grown.ledger.cells, *grown.ledger.stopped, *closed]
    fields = threat.sample((6, 6), 200, generator=draw(1), dtype=torch.float64)
    inside = torch.stack(
        [
            ((c.lower - 1e-12 <= fields) & (fields <= c.upper + 1e-12)).flatten(1).all(1)
            for c in cells
        ]
    )
    assert bool(inside.any(0).all())
    bent = wc.warp(image.double(), fields)
    values = [bent]
    for step in network.to(dtype=torch.float64).steps:
        values.append(step.node(*(values[k] for k in step.inputs)))
    margins = (grown.scene.rows.double() @ values[-1][..., None]).squeeze(-1)
    for cell, mine in zip(cells, inside, strict=True):
        assert bool((margins[mine] >= cell.margins - 1e-9).all())
        for value, known in cell.layers.items():
            assert bool((values[value][mine] >= known.lower - 1e-9).all())
            assert bool((values[value][mine] <= known.upper + 1e-9).all())


def test_what_both_say_holds() -> None:
    boxes = torch.zeros((2, 2, 2)), torch.ones((2, 2, 2))

    def cell(lower: list[float], upper: list[float], margins: list[float]) -> Cell:
        layer = Interval(torch.tensor([lower]).float(), torch.tensor([upper]).float())
        return Cell(*boxes, {1: layer}, torch.tensor(margins).float())

    both = meet(cell([-1, 0], [3, 1], [-1, 2]), cell([0, -1], [2, 2], [1, -3]))
    assert both.margins.tolist() == [1, 2]
    assert both.layers[1].lower.tolist() == [[0, 0]]
    assert both.layers[1].upper.tolist() == [[2, 1]]
