"""Complete: verdicts agree with exact oracles, and no tree forgets what is open."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import warpcert as wc
from tests.bound.problems import layered
from tests.flow.pictures import draw, picture
from tests.oracle.patterns import Layer, lowest
from tests.oracle.row import lowest_row
from tests.verify.networks import brightness, deep, step_image
from warpcert import Network, Status, Threat, Unsound, Verdict
from warpcert.bound import (
    Beta,
    Goal,
    IntervalPropagation,
    Nodes,
    careful,
    improve,
    margin_rows,
    propagate,
)
from warpcert.core.clock import TimeUp, limited
from warpcert.core.progress import Progress, listening
from warpcert.net import Step
from warpcert.net.reshape import Reshape
from warpcert.verify.branch import Effort, Tree
from warpcert.verify.branch.plot import Plot
from warpcert.verify.branch.pool import Pool
from warpcert.verify.branch.prospect import Prospect
from warpcert.verify.cascade import Cascade
from warpcert.verify.complete import Complete
from warpcert.verify.docket import Docket
from warpcert.verify.methods import steps

DOUBLE = torch.float64
NEAR = 1e-4
"""Closer to zero than this an exact minimum decides nothing here: it is searched for in float32."""

DELTAS = st.sampled_from([0.1, 0.2, 0.4, 0.8, 1.3])
GAMMAS = st.sampled_from([0.0, 0.05, 0.3, math.inf])
NORMS = st.sampled_from([1, 2, "inf"])


def drawn(seed: int, size: int, hidden: tuple[int, ...]) -> list[Layer]:
    """Layers with about half of their neurons open."""
    random = np.random.default_rng(seed)
    return [
        (random.normal(size=(out, width)), 0.3 * random.normal(size=out))
        for width, out in itertools.pairwise([size, *hidden, 3])
    ]


def made(layers: list[Layer], shape: tuple[int, int, int]) -> Network:
    """The same as a network for images."""
    size = math.prod(shape)
    flat = layered(*((weight.tolist(), bias.tolist()) for weight, bias in layers))
    return Network(shape, (Step(Reshape(shape, (size,)), (0,), (size,)), *flat.steps[1:]))


def rows_of(label: int) -> list[np.ndarray]:
    """The margins' rows of three classes."""
    return [np.eye(3)[label] - np.eye(3)[k] for k in range(3) if k != label]


def agree(verdict: Verdict, exact: float, network: Network, image: Tensor, threat: Threat) -> None:
    """A verdict says what the exact minimum of all margins says."""
    if abs(exact) < NEAR:
        return
    assert verdict.status is (Status.CERTIFIED if exact > 0 else Status.FALSIFIED), verdict
    if exact > 0:
        assert 0 < verdict.margin <= exact + 1e-9
        return
    assert verdict.field is not None and bool(threat.contains(verdict.field[None]).all())
    scores = network(wc.warp(image[None], verdict.field[None]))[0]
    assert int(scores.argmax()) != verdict.label


# Exact oracles


@given(seed=st.integers(0, 10**6), norm=NORMS, delta=DELTAS, deep_=st.booleans())
@settings(max_examples=12)
def test_one_channel_and_free_pixels(seed: int, norm: object, delta: float, deep_: bool) -> None:
    """The box is the set: every pattern of signs over it is a linear program."""
    layers = drawn(seed, 6, (5, 4) if deep_ else (7,))
    network, image = made(layers, (1, 2, 3)), picture("random", 1, 2, 3, seed=seed)
    label, threat = int(network(image).argmax()), Threat(norm, delta)  # type: ignore[arg-type]
    box = wc.pixel_bounds(image, threat)
    ends = [x[0].flatten().numpy() for x in (box.lower, box.upper)]
    exact = min(lowest(layers, row, *ends).value for row in rows_of(label))
    for method in ("complete", "milp"):
        verdict = wc.certify(network, image[0], label, threat, method, timeout=60)
        assert isinstance(verdict, Verdict)
        agree(verdict, exact, network, image[0], threat)


@given(
    seed=st.integers(0, 10**6),
    norm=NORMS,
    delta=DELTAS,
    gamma=GAMMAS,
    channels=st.sampled_from([1, 2, 3]),
    deep_=st.booleans(),
)
@settings(max_examples=12)
def test_images_of_one_row(
    seed: int, norm: object, delta: float, gamma: float, channels: int, deep_: bool
) -> None:
    """Bending a row is piecewise linear: an integer program is exact for every gamma."""
    layers = drawn(seed, 4 * channels, (4, 3) if deep_ else (5,))
    network = made(layers, (channels, 1, 4))
    image = np.random.default_rng(seed).uniform(size=(channels, 4))
    bent = torch.from_numpy(image)[:, None]
    label, threat = int(network(bent[None]).argmax()), Threat(norm, delta, gamma)  # type: ignore[arg-type]
    found = [lowest_row(layers, image, row, delta, gamma) for row in rows_of(label)]
    verdict = wc.certify(network, bent, label, threat, "complete", timeout=60)
    assert isinstance(verdict, Verdict)
    exact = min(value for value, _ in found)
    agree(verdict, exact, network, bent, threat)
    mixed = wc.certify(network, bent, label, threat, "milp", timeout=60)
    assert isinstance(mixed, Verdict)
    if abs(exact) >= NEAR and mixed.status is not Status.UNKNOWN:  # its input set is relaxed
        assert mixed.status is verdict.status, mixed


def test_the_oracle_for_rows_reaches_what_it_says() -> None:
    for seed in range(8):
        layers = drawn(seed, 8, (4, 3))
        network, gamma = made(layers, (2, 1, 4)), (0.0, 0.1, 0.5, math.inf)[seed % 4]
        image = np.random.default_rng(seed).uniform(size=(2, 4))
        row = np.array([1.0, -1.0, 0.0])
        value, moves = lowest_row(layers, image, row, 1.3, gamma)
        field = torch.zeros((1, 1, 4, 2), dtype=DOUBLE)
        field[0, 0, :, 0] = torch.from_numpy(moves)
        assert Threat("inf", 1.3, gamma).excess(field) <= 1e-6
        scores = network(wc.warp(torch.from_numpy(image)[None, :, None], field))[0]
        assert float(scores[0] - scores[1]) == pytest.approx(value, abs=1e-6)


UNDECIDED: Counter[str] = Counter()


@given(
    seed=st.integers(0, 10**6),
    norm=NORMS,
    gamma=GAMMAS,
    channels=st.sampled_from([1, 3]),
    delta=st.sampled_from([0.1, 0.2, 0.5]),
)
@settings(max_examples=20)
def test_small_images_against_dense_sampling(
    seed: int, norm: object, gamma: float, channels: int, delta: float
) -> None:
    """No field does better than a certificate says, and every witness is one."""
    layers = drawn(seed, 16 * channels, (5, 4))
    network, image = made(layers, (channels, 4, 4)), picture("random", channels, 4, 4, seed=seed)
    label, threat = int(network(image).argmax()), Threat(norm, delta, gamma)  # type: ignore[arg-type]
    verdict = wc.certify(network, image[0], label, threat, "complete", timeout=2)
    assert isinstance(verdict, Verdict)
    UNDECIDED[verdict.status.value] += 1
    fields = threat.sample((4, 4), 2000, generator=draw(seed))
    scores = network(wc.warp(image, fields))
    others = scores.index_fill(1, torch.tensor([label]), -math.inf).amax(1)
    reached = float((scores[:, label] - others).min())
    if verdict.status is not Status.FALSIFIED:
        assert verdict.margin <= reached + 1e-9
    else:
        agree(verdict, -1.0, network, image[0], threat)
    if verdict.status is Status.UNKNOWN:
        assert verdict.margin <= 0 and ("open" in verdict.reason or "limit" in verdict.reason)


def test_most_small_images_are_decided() -> None:
    """Follows the test above, whose verdicts it counts."""
    if sum(UNDECIDED.values()):
        assert UNDECIDED["unknown"] <= 0.2 * sum(UNDECIDED.values())


@pytest.mark.parametrize(
    "without",
    [
        {"fields": False},
        {"relus": False},
        {"trials": False},
        {"duals": False},
        {"intersect": False},
        {"warm": False},
        {"free": False},
    ],
)
def test_parts_that_are_left_out_cost_time_and_nothing_else(without: dict[str, Any]) -> None:
    for seed in range(3):
        layers = drawn(seed, 8, (4, 3))
        network, gamma = made(layers, (2, 1, 4)), (0.05, 0.3)[seed % 2]
        image = np.random.default_rng(seed).uniform(size=(2, 4))
        bent, threat = torch.from_numpy(image)[:, None], Threat("inf", 0.3, gamma)
        label = int(network(bent[None]).argmax())
        exact = min(lowest_row(layers, image, row, 0.3, gamma)[0] for row in rows_of(label))
        docket = Docket(network, bent[None], torch.tensor([label]), threat)
        with torch.no_grad():
            Cascade([*steps("interval"), Complete(effort=replace(Effort(), **without))], timeout=2)(
                docket
            )
        (verdict,) = docket.verdicts()
        if verdict.status is not Status.UNKNOWN:
            agree(verdict, exact, network, bent, threat)
        else:
            assert verdict.margin <= exact + 1e-9


@pytest.fixture(scope="module")
def plot_of_a_digit() -> tuple[Plot, Tensor, Threat]:
    """A plot over a coupled set that decisions alone do not close, and its open margins."""
    images, labels = wc.load_images("mnist:22")
    network, threat = wc.load_network("mnist-convsmall-pgd"), Threat("inf", 0.7, 0.1)
    root = tree_of(images[0], int(labels[0]), network, threat).ledger.root
    rows, inputs = margin_rows(labels, network.classes), wc.DeformedImage(images, threat)
    with torch.no_grad():
        work = Plot(network, inputs, root.layers, rows, root.margins, Effort())
    return work, root.margins, threat


def test_roots_are_bounded_over_the_set_as_well_as_that_goes(
    plot_of_a_digit: tuple[Plot, Tensor, Threat],
) -> None:
    """Higher than other nodes would be, and no higher than margins of members of the threat."""
    image, labels = wc.load_images("mnist:22")
    work, margins, threat = plot_of_a_digit
    with torch.no_grad():
        open_ = (margins <= 0).nonzero().squeeze(1)
        nodes = Nodes.roots(work.reduced, open_, margins[open_])
        nodes = improve(work.reduced, work.loose, nodes, work.effort.root, 0)
        goal = Goal.margins(work.reduced, nodes.rows)
        quick, _ = careful(work.reduced, work.set, nodes, goal, 20)
        roots = work._root(nodes).bound
        bends = wc.warp(image.double(), threat.sample((28, 28), 500))
        members = work.network(bends.flatten(0, -4)) @ margin_rows(labels, 10)[0].mT
    assert bool((roots >= quick - 1e-9).all()) and float((roots - quick).amax()) > 0.1
    assert bool((roots <= members.amin(0)[open_]).all())


def test_nodes_that_should_be_closed_are_searched_for_longer(
    plot_of_a_digit: tuple[Plot, Tensor, Threat], monkeypatch: pytest.MonkeyPatch
) -> None:
    """These alone; each keeps its own row and neurons, and all others all they had."""
    work, _, _ = plot_of_a_digit
    asked = torch.tensor([False, True, True, False, True, False, False, True])
    with torch.no_grad():
        nodes = work.pool.take(8)
        assert nodes.duals is not None
        goal = Goal.margins(work.reduced, nodes.rows)
        nodes = replace(nodes, duals=torch.zeros_like(nodes.duals))  # far from the best
        nodes = replace(nodes, bound=careful(work.reduced, work.set, nodes, goal)[0])
        monkeypatch.setattr(Prospect, "worth", lambda *_: asked)
        monkeypatch.setattr(work, "longer", work.longer[:1])
        found = work._persist(nodes, nodes.bound)
        again, _ = careful(work.reduced, work.set, found, goal)
    assert len(nodes) == 8 and found.duals is not None and nodes.duals is not None
    assert bool((found.bound > nodes.bound)[asked].all())
    torch.testing.assert_close(found.bound[~asked], nodes.bound[~asked], rtol=0, atol=0)
    torch.testing.assert_close(found.duals[~asked], nodes.duals[~asked], rtol=0, atol=0)
    for name in ("rows", "signs", "lower", "upper"):
        assert torch.equal(getattr(found, name), getattr(nodes, name))
    # slopes, multipliers and duals that come back belong to the bounds that come back
    assert bool((again >= found.bound - 1e-9)[asked].all())


def test_longer_searches_close_nodes_that_ordinary_ones_do_not() -> None:
    """The same children, with and without; they learn which gaps they close."""
    image, labels = wc.load_images("mnist:86")
    network, threat = wc.load_network("mnist-convsmall-pgd"), Threat("inf", 0.5, 0.1)
    root = tree_of(image[0], int(labels[0]), network, threat).ledger.root
    rows, inputs = margin_rows(labels, network.classes), wc.DeformedImage(image, threat)
    with torch.no_grad():
        work = Plot(network, inputs, root.layers, rows, root.margins, Effort(set_splits=()))
        while len(work.pool) < 60:
            work.round()
        nodes = work.pool.take(60)
        (kids, empty), longer = propagate(work.reduced, work.ends, nodes.children()), work.longer
        work.longer = []
        ordinary = work._bound(kids[~empty], work.effort.node).bound
        device = ordinary.device
        work.longer = [(*how[:2], Prospect(how[0].least, device)) for how in longer]
        found = work._bound(kids[~empty], work.effort.node).bound
    assert bool((found >= ordinary - 1e-9).all())
    assert int((found > 0).sum()) > 1.2 * int((ordinary > 0).sum())
    tried, won = work.longer[0][2].tries - 1, work.longer[0][2].wins - 1
    assert float(tried.sum()) > 0 and bool((won <= tried + 1e-6).all())


# Trees


def tree_of(image: Tensor, label: int, network: Network, threat: Threat, **how: object) -> Tree:
    images, labels = image[None], torch.tensor([label])
    rows = margin_rows(labels, network.classes)
    known = IntervalPropagation()(network, wc.DeformedImage(images, threat), rows)
    effort = Effort(**how)  # type: ignore[arg-type]
    return Tree(network, images, labels, threat, rows, effort, known)


@pytest.fixture(scope="module")
def mnist() -> tuple[Network, Tensor, Tensor]:
    images, labels = wc.load_images("mnist:0-19")
    return wc.load_network("mnist-convsmall-ibp"), images, labels


@pytest.mark.parametrize("gamma", [math.inf, 0.1, 0.01])
def test_what_is_in_work_when_the_time_is_up_stays_open(
    mnist: tuple[Network, Tensor, Tensor], gamma: float
) -> None:
    """At whatever moment a tree is stopped, what it has proved so far is not all."""
    network, images, labels = mnist
    threat = Threat("inf", 1.2, gamma)
    for seconds in (0.0, 0.3, 0.8):
        tree = tree_of(images[8], int(labels[8]), network, threat)
        tree.hunt.try_fields = lambda fields: False  # type: ignore[method-assign]
        tree.hunt.try_images = lambda images: False  # type: ignore[method-assign]
        tree.hunt.try_hard = lambda: False  # type: ignore[method-assign]
        with torch.no_grad(), limited(seconds), pytest.raises(TimeUp):
            tree.grow()
        assert tree.open > 0 and float(tree.margins.min()) <= 0


def test_an_interrupted_batch_of_nodes_is_not_lost(
    mnist: tuple[Network, Tensor, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, images, labels = mnist
    tree = tree_of(images[8], int(labels[8]), network, Threat("inf", 1.2))
    calls = 0

    def slow(self: Plot, nodes: Nodes, beta: Beta) -> Nodes:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise TimeUp
        return whole(self, nodes, beta)

    whole = Plot._bound
    monkeypatch.setattr(Plot, "_bound", slow)
    monkeypatch.setattr(tree.hunt, "try_images", lambda images: False)
    monkeypatch.setattr(tree.hunt, "try_hard", lambda: False)
    with torch.no_grad(), pytest.raises(TimeUp):
        tree.grow()
    (_, plot) = tree.ledger.plots[0]
    assert plot.held is not None and tree.open >= len(plot.held) > 0
    assert float(tree.margins.min()) <= float(plot.held.bound.min()) <= 0


def test_an_unfinished_tree_says_how_far_it_is(mnist: tuple[Network, Tensor, Tensor]) -> None:
    network, images, labels = mnist
    start = time.monotonic()
    verdict = wc.certify(
        network, images[8], int(labels[8]), Threat("inf", 0.9, 0.1), "complete", timeout=1.5
    )
    assert isinstance(verdict, Verdict) and time.monotonic() - start < 6
    if verdict.status is Status.UNKNOWN:
        assert "the time limit left" in verdict.reason and "nodes open" in verdict.reason
        assert -math.inf < verdict.margin <= 0 and verdict.gap > 0


def test_progress_is_told(mnist: tuple[Network, Tensor, Tensor]) -> None:
    network, images, labels = mnist
    heard: list[Progress] = []
    docket = Docket(network, images[3:4], labels[3:4], Threat("inf", 0.6, 0.01))
    with torch.no_grad(), listening(heard.append):
        Cascade([Complete()], timeout=30)(docket)
    assert heard and all(told.open >= 0 and not math.isnan(told.bound) for told in heard)
    assert str(Progress(3, -0.25)) == "3 open, margin at least -0.25"


def test_a_tie_ends(mnist: tuple[Network, Tensor, Tensor]) -> None:
    """Neither proved nor refuted, whatever is cut: the tree gives up by itself."""
    for gamma in (math.inf, 0.1):
        threat = Threat("inf", 0.25, gamma)
        verdict = wc.certify(brightness(0.25), step_image(), 0, threat, "complete")
        assert isinstance(verdict, Verdict) and verdict.status is Status.UNKNOWN
        assert verdict.margin == pytest.approx(0, abs=1e-4)


def test_networks_without_hinges_are_cut_along_the_field() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(16, 5), torch.nn.Sigmoid(), torch.nn.Linear(5, 2)
    )
    network = Network.from_module(module.eval(), (1, 4, 4))
    image = picture("random", 1, 4, 4, seed=3)
    label = int(network(image).argmax())
    found = wc.certify(network, image[0], label, Threat("inf", 0.4, 0.0), "complete", timeout=20)
    assert isinstance(found, Verdict) and found.status is not Status.UNKNOWN


def test_several_images_share_their_time() -> None:
    net = deep(([[4.0, -4.0], [-4.0, 4.0]], [0.1, 0.0]), ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]))
    images = torch.rand((3, 1, 4, 4), generator=draw(0))
    labels = net(images.double()).argmax(1)
    together = wc.certify(net, images, labels, Threat("inf", 0.2, 0.05), "complete", timeout=10)
    assert isinstance(together, list)
    for image, label, verdict in zip(images, labels.tolist(), together, strict=True):
        alone = wc.certify(net, image, label, Threat("inf", 0.2, 0.05), "complete", timeout=10)
        assert isinstance(alone, Verdict) and alone.status is verdict.status


def test_a_tree_that_forgets_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open nodes, and yet every margin above zero: nobody may call that a proof."""
    monkeypatch.setattr(Tree, "grow", lambda self: None)
    monkeypatch.setattr(
        Tree, "margins", property(lambda self: torch.ones(1, dtype=DOUBLE)), raising=True
    )
    docket = Docket(
        brightness(0.25), step_image()[None].double(), torch.tensor([0]), Threat("inf", 0.25)
    )
    with pytest.raises(Unsound, match="a tree with open nodes has proved everything"):
        Complete()(docket, torch.tensor([0]))


def test_a_cell_without_members_is_a_defect(
    mnist: tuple[Network, Tensor, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty node is closed; but if all are, the bounds that say so are wrong."""
    network, images, labels = mnist

    def nobody(reduced: object, ends: object, nodes: Nodes) -> tuple[Nodes, Tensor]:
        return nodes, torch.ones(len(nodes), dtype=torch.bool)

    monkeypatch.setattr("warpcert.verify.branch.plot.propagate", nobody)
    tree = tree_of(images[8], int(labels[8]), network, Threat("inf", 1.2))
    monkeypatch.setattr(tree.hunt, "try_images", lambda images: False)
    monkeypatch.setattr(tree.hunt, "try_hard", lambda: False)
    with torch.no_grad(), pytest.raises(Unsound, match="every node of a cell is empty"):
        tree.grow()


# Pools


def nodes(bounds: list[float]) -> Nodes:
    count = len(bounds)
    zeros = torch.zeros((count, 2))
    return Nodes(
        torch.arange(count),
        zeros.to(torch.int8),
        zeros.double(),
        zeros.double(),
        torch.tensor(bounds, dtype=DOUBLE),
        zeros,
        zeros,
        None,
        torch.zeros(count, dtype=torch.int64),
    )


def test_pools_give_the_worst_first_and_lose_nothing() -> None:
    pool, random = Pool(), np.random.default_rng(0)
    inside: list[float] = []
    assert not len(pool) and pool.lowest == math.inf and pool.rows() == {}
    for _ in range(30):
        new = (-random.uniform(size=random.integers(1, 9))).tolist()
        pool.put(nodes(new))
        inside = sorted(inside + new)
        assert len(pool) == len(inside) and pool.lowest == inside[0]
        count, best = int(random.integers(1, 6)), bool(random.integers(2))
        taken = pool.take(count, best=best).bound.tolist()
        wanted = inside[-count:] if best else inside[:count]
        assert sorted(taken) == wanted
        for bound in wanted:
            inside.remove(bound)


def test_a_pool_keeps_what_has_no_bound() -> None:
    pool = Pool()
    pool.put(nodes([math.nan, -1.0]))
    assert len(pool) == 2 and pool.lowest == -math.inf


def test_pixels_that_cannot_change() -> None:
    # Behind flat pixels a ReLU has an interval of one point; a constant image moves nowhere.
    flat = torch.tensor([[[0.5, 0.5, 0.5, 0.5, 0.9, 0.1]]], dtype=DOUBLE)
    generator = torch.Generator().manual_seed(0)
    for image, threat in ((flat, Threat("inf", 0.5, 0.1)), (flat[..., :2], Threat("inf", 0.5))):
        width = image.shape[-1]
        module = nn.Sequential(
            nn.ReLU(), nn.Flatten(), nn.Linear(width, 3), nn.ReLU(), nn.Linear(3, 2)
        ).double()
        for parameter in module.parameters():
            parameter.data = torch.randn(parameter.shape, generator=generator, dtype=DOUBLE)
        network = Network.from_module(module.eval(), (1, 1, width))
        label = int(network(image[None]).argmax())
        verdict = wc.certify(network, image, label, threat, "complete", timeout=20)
        assert isinstance(verdict, Verdict)
        assert verdict.status in (Status.CERTIFIED, Status.FALSIFIED)


def test_neurons_that_are_zero_up_to_rounding_on_an_image_that_cannot_change() -> None:
    module = nn.Sequential(
        nn.Flatten(), nn.Linear(2, 1), nn.ReLU(), nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 2)
    ).double()
    weights = ([[1.0, -1.0]], [0.0], [[1.0]], [0.0], [[1.0], [-1.0]], [1e-300, 0.0])
    for parameter, values in zip(module.parameters(), weights, strict=True):
        parameter.data = torch.tensor(values, dtype=DOUBLE)
    network = Network.from_module(module.eval(), (1, 1, 2))
    image = torch.full((1, 1, 2), 0.3, dtype=DOUBLE)
    verdict = wc.certify(network, image, 0, Threat("inf", 0.5), "complete", timeout=5)
    assert isinstance(verdict, Verdict)
    assert verdict.status in (Status.UNKNOWN, Status.CERTIFIED)
