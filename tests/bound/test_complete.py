"""Bounds of small ReLU networks against their exact minimum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from tests.bound.problems import DOUBLE, layered
from tests.flow.pictures import picture
from tests.oracle.patterns import Layer, Lowest, evaluate, lowest
from warpcert import Box, DeformedImage, InputSet, Interval, Threat
from warpcert.bound import Alpha, Ascent, Bounder, DeepPoly, IntervalPropagation
from warpcert.net import Network, Step
from warpcert.net.reshape import Reshape

BOUNDERS: list[Bounder] = [
    IntervalPropagation(),
    DeepPoly(),
    DeepPoly(intersect=False),
    Alpha(Ascent(iterations=1), Ascent(iterations=3)),
]
NOISE = 1e-13
"""Of evaluating ten neurons in float64, relative to the size of the scores."""


def drawn(seed: int, size: int) -> list[Layer]:
    """One or two hidden layers of eight neurons at most, most of them open."""
    random = np.random.default_rng(seed)
    sizes = [size, *([4, 3] if seed % 2 else [6]), 3]
    return [
        (random.normal(size=(out, width)), 0.3 * random.normal(size=out))
        for width, out in itertools.pairwise(sizes)
    ]


def check(layers: list[Layer], network: Network, inputs: InputSet, seed: int) -> None:
    """No bound is above the value at the point which the oracle found: it is a member."""
    random = np.random.default_rng(1000 + seed)
    rows = np.stack([np.array([1.0, -1.0, 0.0]), random.normal(size=3)])
    ends = [x[0].flatten().numpy() for x in (inputs.box.lower, inputs.box.upper)]
    exact: list[Lowest] = [lowest(layers, row, *ends) for row in rows]
    truth = [float(row @ evaluate(layers, low.point)) for row, low in zip(rows, exact, strict=True)]
    noise = NOISE * (1 + np.abs(evaluate(layers, exact[0].point)).sum())
    for bounder in BOUNDERS:
        found = bounder(network, inputs, torch.from_numpy(rows)[None])
        for bound, least in zip(found.margins[0].tolist(), truth, strict=True):
            assert bound <= least + noise, bounder


@pytest.mark.parametrize("block", range(5))
def test_no_bound_is_above_the_minimum_over_a_box(block: int) -> None:
    for seed in range(8 * block, 8 * block + 8):
        layers = drawn(seed, 3)
        random = np.random.default_rng(seed)
        centre, radius = random.normal(size=3), random.uniform(0, 0.7, size=3)
        ends = (torch.from_numpy(x).reshape(1, 1, 1, 3) for x in (centre - radius, centre + radius))
        network = layered(*((weight.tolist(), bias.tolist()) for weight, bias in layers))
        check(layers, network, Box(Interval(*ends)), seed)


@pytest.mark.parametrize("seed", range(8))
def test_no_bound_is_above_the_minimum_over_bent_images(seed: int) -> None:
    """With one channel and free neighbours the box is the set itself: every corner is a member."""
    layers = drawn(seed, 6)
    image = picture("random", 1, 2, 3, seed=seed)
    norm = (1, 2, "inf")[seed % 3]
    flat = layered(*((weight.tolist(), bias.tolist()) for weight, bias in layers))
    first = Step(Reshape((1, 2, 3), (6,)), (0,), (6,))
    network = Network((1, 2, 3), (first, *flat.steps[1:]))
    check(layers, network, DeformedImage(image, Threat(norm, 0.4)), seed)  # type: ignore[arg-type]


def test_every_open_neuron_alone_is_solved_by_alpha() -> None:
    """One open neuron among ten: the best line below is the convex hull, so nothing is lost."""
    for seed in range(6):
        random = np.random.default_rng(seed)
        layers = drawn(2 * seed, 3)
        centre = random.normal(size=3)
        weight, bias = layers[0]
        order = np.argsort(np.abs(weight @ centre + bias) / np.abs(weight).sum(1))
        distance = np.abs(weight @ centre + bias)[order] / np.abs(weight).sum(1)[order]
        radius = (distance[0] + distance[1]) / 2  # the nearest neuron opens, the others do not
        network = layered(*((w.tolist(), b.tolist()) for w, b in layers))
        ends = (torch.from_numpy(x).reshape(1, 1, 1, 3) for x in (centre - radius, centre + radius))
        inputs = Box(Interval(*ends))
        rows = torch.from_numpy(random.normal(size=(1, 4, 3)))
        found = Alpha(Ascent(0), Ascent(60))(network, inputs, rows)
        (layer,) = found.layers.values()
        assert int(((layer.lower < 0) & (layer.upper > 0)).sum()) == 1
        for bound, row in zip(found.margins[0].tolist(), rows[0].numpy(), strict=True):
            least = lowest(layers, row, centre - radius, centre + radius).value
            assert least - bound <= self_gap(layers, row, centre, radius), (seed, least, bound)


def self_gap(layers: list[Layer], row: np.ndarray, centre: np.ndarray, radius: float) -> float:
    """What one neuron's triangle leaves open: its height, where its weight is negative."""
    weight, bias = layers[0]
    reach = np.abs(weight).sum(1) * radius
    low, high = weight @ centre + bias - reach, weight @ centre + bias + reach
    opened = (low < 0) & (high > 0)
    height = np.where(opened, -low * high / (high - low), 0.0)
    return float(np.abs(row @ layers[-1][0]) @ height) + 1e-3


def test_doubles_are_used() -> None:
    network = layered(([[1.0, 0.0]], None), ([[1.0], [0.0]], None))
    found = DeepPoly()(network, small_box(), torch.tensor([[[1.0, -1.0]]], dtype=torch.float32))
    assert found.margins.dtype == DOUBLE


def small_box() -> Box:
    ends = torch.zeros((2, 1, 1, 1, 2), dtype=torch.float32)
    return Box(Interval(ends[0], ends[1] + 1))
