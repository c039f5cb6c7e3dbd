"""Branching on inner neurons: never above the exact minimum, and at it after enough splits."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

import warpcert as wc
from tests.flow.pictures import picture
from tests.oracle.patterns import lowest
from tests.oracle.row import lowest_row
from tests.verify.test_complete import drawn, made, rows_of, tree_of
from warpcert import DeformedImage, Threat, pixel_bounds
from warpcert.bound import Beta, BoxGround, Nodes, margin_rows
from warpcert.core.box import Box
from warpcert.core.errors import Unsound
from warpcert.verify.branch import Effort
from warpcert.verify.branch import deepen as room
from warpcert.verify.branch.deepen import deepen
from warpcert.verify.branch.plot import Plot

HIDDEN = (7, 5)

THOROUGH = Beta(iterations=600, rate=0.2, decay=0.99)
PLAIN = Effort()
EXACT = Effort(root=THOROUGH, node=THOROUGH, splits=100)
"""Multipliers of leaves in which all is decided must have settled."""


SEEDS = (4, 9, 12, 18, 28)
"""Networks with open neurons in both hidden layers, of which some need decisions."""


def plot_of(seed: int, effort: Effort = PLAIN) -> tuple[Plot, list[float], float]:
    """A plot over the box of a drawn network, the exact ends of its last layer's open
    neurons, z and -z, and its least margin."""
    layers = drawn(seed, 6, HIDDEN)
    network, image = made(layers, (1, 2, 3)), picture("random", 1, 2, 3, seed=seed)
    label, threat = int(network(image).argmax()), Threat("inf", 0.6)
    tree, box = tree_of(image[0], label, network, threat), pixel_bounds(image, threat)
    root = tree.ledger.root
    plot = Plot(network, Box(box), root.layers, tree.scene.rows, root.margins, effort)
    ends, margin = exact(seed, label)
    entries = plot.reduced.blocks[-1].entries.tolist()
    return plot, [ends[sign, k] for sign in (1, -1) for k in entries], margin


@cache
def exact(seed: int, label: int) -> tuple[dict[tuple[int, int], float], float]:
    """The least values of the last hidden layer's neurons, of minus them, and of the margins."""
    layers, image = drawn(seed, 6, HIDDEN), picture("random", 1, 2, 3, seed=seed)
    box = pixel_bounds(image, Threat("inf", 0.6))
    low, high = (x[0].flatten().numpy() for x in (box.lower, box.upper))
    ends = {
        (sign, k): lowest(layers[:2], sign * np.eye(HIDDEN[1])[k], low, high).value
        for sign in (1, -1)
        for k in range(HIDDEN[1])
    }
    return ends, min(lowest(layers, row, low, high).value for row in rows_of(label))


def known_ends(plot: Plot) -> torch.Tensor:
    place = plot.reduced.places[-1]
    return torch.cat([plot.reduced.lower[place], -plot.reduced.upper[place]])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("batch", [1, 64])
def test_enough_splits_find_the_exact_ends(seed: int, batch: int) -> None:
    """Of ends below zero: once an end is above it, the sign is known and nothing more is asked."""
    with torch.no_grad():
        plot, ends, _ = plot_of(seed)
        number = len(plot.reduced.blocks) - 1
        lower, upper = deepen(plot.reduced, BoxGround(plot.reduced), number, EXACT, batch)
    least, known = torch.tensor(ends, dtype=torch.float64), known_ends(plot)
    found = torch.cat([lower, -upper])
    assert bool((found <= least + 1e-9).all()) and bool((found >= known).all())
    below = least < 0
    torch.testing.assert_close(found[below], least[below], rtol=0, atol=1e-3)
    assert bool((found[~below] > -1e-3).all())


@pytest.mark.parametrize("splits", [1, 2, 5])
def test_a_few_splits_are_sound_and_never_looser(splits: int) -> None:
    gained = 0.0
    with torch.no_grad():
        for seed in SEEDS:
            plot, ends, _ = plot_of(seed)
            number, effort = len(plot.reduced.blocks) - 1, Effort(splits=splits)
            before = known_ends(plot)
            lower, upper = deepen(plot.reduced, BoxGround(plot.reduced), number, effort, 3)
            found = torch.cat([lower, -upper])
            assert bool((found <= torch.tensor(ends, dtype=torch.float64) + 1e-9).all())
            assert bool((found >= before).all())
            gained += float((found - before).sum())
    assert gained > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_plots_that_deepen_prove_what_is_true(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once and in every round no more than the exact margin, and all of it where that is > 0."""
    deepened = 0

    def counted(*given: object) -> tuple[torch.Tensor, torch.Tensor]:
        nonlocal deepened
        deepened += 1
        return deepen(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("warpcert.verify.branch.plot.deepen", counted)
    with torch.no_grad():
        plot, _, margin = plot_of(seed, Effort(splits=3, batch=4))
        inner = plot.layers
        plot.nodes = 10**6  # as if it had taken long
        for _ in range(300):
            assert float(plot.margins.min()) <= margin + 1e-9
            if plot.done:
                break
            plot.round()
        if deepened:
            assert deepened == 1
            for value, old in inner.items():
                assert bool((plot.layers[value].lower >= old.lower).all())
                assert bool((plot.layers[value].upper <= old.upper).all())
        assert bool((plot.margins > 0).all()) == (margin > 0)


def test_no_plot_deepens_before_its_time_or_for_a_proof() -> None:
    with torch.no_grad():
        plot, _, _ = plot_of(SEEDS[0], EXACT)
        assert plot.stages == [EXACT.splits]
        kept = Plot(
            plot.network,
            plot.inputs,
            plot.layers,
            torch.zeros((1, 2, 3), dtype=torch.float64),
            torch.full((2,), -1.0, dtype=torch.float64),
            EXACT,
            keep=True,
        )
        assert not kept.stages
        assert not plot_of(SEEDS[0], Effort(splits=0))[0].stages
        assert not plot_of(SEEDS[0], Effort(intersect=False))[0].stages


@pytest.mark.parametrize("batch", [1, 10**6])
def test_as_many_splits_are_made_as_were_asked_for(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where more nodes are treated at once than there are."""
    made: list[int] = []
    split = room._Leaves.split

    def count(leaves: room._Leaves, each: int) -> int:
        made.append(split(leaves, each))
        return made[-1]

    monkeypatch.setattr(room._Leaves, "split", count)
    with torch.no_grad():
        plot, _, _ = plot_of(SEEDS[0])
        number, effort = len(plot.reduced.blocks) - 1, Effort(splits=3)
        deepen(plot.reduced, BoxGround(plot.reduced), number, effort, batch)
    assert sum(made) == 3 and made == ([1, 1, 1] if batch == 1 else [1, 2])


SET = Threat("inf", 0.6, 0.1)


def plot_over_a_set(seed: int, effort: Effort) -> tuple[Plot, list[list[float]], float]:
    """A plot over the bent versions of a row, the exact ends of both hidden layers' neurons that
    are open, z and -z, and its least margin."""
    layers = drawn(seed, 6, HIDDEN)
    network, image = made(layers, (1, 1, 6)), picture("random", 1, 1, 6, seed=seed)
    label = int(network(image).argmax())
    root = tree_of(image[0], label, network, SET).ledger.root
    rows = margin_rows(torch.tensor([label]), 3)
    plot = Plot(network, DeformedImage(image, SET), root.layers, rows, root.margins, effort)
    pixels, ends = image[0, :, 0].numpy(), []
    for depth, block in enumerate(plot.reduced.blocks, start=1):
        unit = np.eye(HIDDEN[depth - 1])[block.entries.tolist()]
        every = [*unit, *-unit]
        ends.append([lowest_row(layers[:depth], pixels, row, 0.6, 0.1)[0] for row in every])
    margin = min(lowest_row(layers, pixels, row, 0.6, 0.1)[0] for row in rows_of(label))
    return plot, ends, margin


@pytest.mark.parametrize("seed", SEEDS)
def test_ends_over_a_coupled_set_are_sound(seed: int) -> None:
    """Never above the exact ends, which an integer program finds, and never looser than before."""
    with torch.no_grad():
        plot, ends, _ = plot_over_a_set(seed, Effort(inner=Beta(iterations=0)))
        for number in range(1, len(plot.reduced.blocks)):
            place = plot.reduced.places[number]
            before = torch.cat([plot.reduced.lower[place], -plot.reduced.upper[place]])
            lower, upper = deepen(plot.reduced, plot.set, number, Effort(splits=6), 8)
            found = torch.cat([lower, -upper])
            assert bool((found <= torch.tensor(ends[number], dtype=torch.float64) + 1e-9).all())
            assert bool((found >= before).all()) and float((found - before).sum()) > 0


def test_neurons_over_a_set_are_searched_for_longer_than_nodes() -> None:
    """Over a box they are not: there a node takes a neuron's time."""
    weak = Effort(split=Beta(iterations=1), split_duals=0)
    with torch.no_grad():
        gained = []
        for seed in SEEDS[:2]:
            plot, _, _ = plot_over_a_set(seed, Effort(inner=Beta(iterations=0)))
            ends = [
                deepen(plot.reduced, plot.set, 1, replace(effort, splits=4), 8)
                for effort in (PLAIN, weak)
            ]
            (lower, upper), (less, more) = ends
            gained.append(float((lower - less).sum() + (more - upper).sum()))
            box = plot_of(seed)[0]
            last, loose = len(box.reduced.blocks) - 1, BoxGround(box.reduced)
            same = [
                deepen(box.reduced, loose, last, replace(effort, splits=2), 8)
                for effort in (PLAIN, weak)
            ]
            for one, other in zip(*same, strict=True):
                assert torch.equal(one, other)
    assert min(gained) > -1e-6 and max(gained) > 1e-3


@pytest.mark.parametrize("seed", [11, 15, 17, 21, 27, 32])
def test_plots_over_a_set_deepen_in_stages(seed: int) -> None:
    """All hidden layers but the first one, more and more; no more is proved than the margin."""
    with torch.no_grad():
        plot, _, margin = plot_over_a_set(seed, Effort(set_splits=(1, 3), batch=2))
        assert not plot.done and len(plot.reduced.blocks) == 2 and plot.stages == [1, 3]
        before = plot.reduced
        assert tuple(before.blocks[k] for k in plot._deep) == before.blocks[1:]
        plot.nodes = 10**6  # as if it had taken long
        for rest in ([3], []):
            plot.round()
            assert plot.stages == rest
            assert float(plot.margins.min()) <= margin + 1e-9
            if plot.done:
                break
        assert bool((plot.reduced.lower >= before.lower).all())
        assert bool((plot.reduced.upper <= before.upper).all())
        first = before.places[0]
        assert torch.equal(plot.reduced.lower[first], before.lower[first])


def test_waiting_nodes_are_told_what_was_found_and_no_more() -> None:
    images, labels = wc.load_images("mnist:22")
    network, threat = wc.load_network("mnist-convsmall-pgd"), Threat("inf", 0.7, 0.1)
    root = tree_of(images[0], int(labels[0]), network, threat).ledger.root
    rows, inputs = margin_rows(labels, network.classes), DeformedImage(images, threat)
    with torch.no_grad():
        plot = Plot(network, inputs, root.layers, rows, root.margins, Effort())
        for _ in range(3):
            plot.round()
        assert len(plot.pool) > 3 and len(plot.reduced.blocks) == 3
        pool, count = plot.pool, len(plot.pool)
        old = pool.take(count)
        pool.put(old)
        plot._deepen(1)
        new = pool.take(count)
        assert torch.equal(old.bound.sort().values, new.bound.sort().values)
        old, new = old[old.bound.argsort()], new[new.bound.argsort()]
        lower = torch.maximum(old.lower, plot.reduced.lower)
        upper = torch.minimum(old.upper, plot.reduced.upper)
        assert torch.equal(new.lower, lower) and torch.equal(new.upper, torch.maximum(lower, upper))


def test_leaves_that_are_all_lost_are_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """If every leaf were said to have no member, that would look like a proof."""

    def nothing(_: object, __: object, nodes: Nodes) -> tuple[Nodes, torch.Tensor]:
        return nodes, torch.ones(len(nodes), dtype=torch.bool)

    with torch.no_grad():
        plot, _, _ = plot_of(SEEDS[0])
        monkeypatch.setattr(room, "propagate", nothing)
        with pytest.raises(Unsound, match="no member"):
            deepen(plot.reduced, BoxGround(plot.reduced), 1, EXACT, 64)


def test_bounds_of_one_block_are_replaced() -> None:
    with torch.no_grad():
        plot, _, _ = plot_of(SEEDS[0])
    reduced = plot.reduced
    place = reduced.places[-1]
    low, high = reduced.lower[place] / 2, reduced.upper[place] / 2
    other = reduced.with_bounds(len(reduced.blocks) - 1, low, high)
    assert torch.equal(other.lower[place], low) and torch.equal(other.upper[place], high)
    assert torch.equal(other.lower[: place.start], reduced.lower[: place.start])
    assert torch.equal(other.single.lower, other.lower.float())
    assert torch.equal(reduced.lower[place], 2 * low)
    assert replace(reduced).blocks is reduced.blocks
