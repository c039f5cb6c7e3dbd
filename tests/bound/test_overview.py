"""The toy network of the paper's overview, and every number of its figure."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

import warpcert as wc
from tests.bound.problems import DOUBLE
from tests.contract.bounder import assert_close
from tests.flow.pictures import OVERVIEW
from warpcert import Network, Threat, Verdict
from warpcert.bound import Bounder, IntervalPropagation
from warpcert.net import Step
from warpcert.net.linear import Linear
from warpcert.net.relu import Relu
from warpcert.net.reshape import Reshape
from warpcert.verify import Relaxation

FREE, SMOOTH = Threat("inf", 0.5), Threat("inf", 0.5, 0.25)
LABEL = torch.tensor([1])
EXACT = 1e-9


def toy(bias: float = 0.125, row: int = 1, scores: bool = True) -> Network:
    """x0 and x1 are the second and the third pixel of a row: 0 in [0, 0.25], 0.5 in [0.25, 0.75].

    Those are the only neighbours with the figure's intervals. Every row of the picture is alike.
    For x2 in [-0.5, 0.5] both of DeepPoly's lines below leave the same area: slope 0 is taken.
    """
    first = torch.zeros((2, 12), dtype=DOUBLE)
    first[0, 4 * row + 1], first[0, 4 * row + 2] = 2.0, -1.0
    first[1, 4 * row + 1], first[1, 4 * row + 2] = -1.0, 1.0
    last = torch.tensor([[-2.0, 0.0], [-1.0, 1.0]] if scores else [[1.0, 0.0], [0.0, 1.0]])
    return Network(
        (1, 3, 4),
        (
            Step(Reshape((1, 3, 4), (12,)), (0,), (12,)),
            Step(Linear(first, torch.tensor([0.25, bias], dtype=DOUBLE), (12,)), (1,), (2,)),
            Step(Relu(), (2,), (2,)),
            Step(Linear(last.to(DOUBLE), None, (2,)), (3,), (2,)),
        ),
    )


def ends(network: Network, method: Bounder) -> Tensor:
    """Lower and upper ends of both scores."""
    one = torch.eye(2, dtype=DOUBLE)
    rows = torch.cat([one, -one])[None]
    found = method(network, wc.DeformedImage(OVERVIEW, FREE), rows).margins[0]
    return torch.stack([found[:2], -found[2:]])


def test_the_picture_as_it_is() -> None:
    assert toy()(OVERVIEW).tolist() == [[0.0, 0.625]]


@pytest.mark.parametrize("row", [0, 1, 2])
def test_every_interval_of_the_figure(row: int) -> None:
    found = wc.bounds(toy(row=row), OVERVIEW, FREE, LABEL, "interval")
    layers, margins = found
    assert_close(layers[2].lower, torch.tensor([[-0.5, 0.125]], dtype=DOUBLE))
    assert_close(layers[2].upper, torch.tensor([[0.5, 0.875]], dtype=DOUBLE))
    after = ends(toy(row=row, scores=False), IntervalPropagation())
    assert_close(after, torch.tensor([[0.0, 0.125], [0.5, 0.875]], dtype=DOUBLE))
    scores = ends(toy(row=row), IntervalPropagation())
    assert_close(scores, torch.tensor([[-1.0, -0.375], [0.0, 0.875]], dtype=DOUBLE))
    assert_close(margins, torch.tensor([[0.125]], dtype=DOUBLE))


def test_the_two_scores_apart_prove_nothing() -> None:
    """x7 >= -0.375 and x6 <= 0, as the paper has it; x4 + x5 taken together are at least 0.125."""
    scores = ends(toy(), IntervalPropagation())
    assert scores[0, 1] - scores[1, 0] == pytest.approx(-0.375, abs=EXACT)


@pytest.mark.parametrize("intersect", [True, False])
def test_back_substitution_certifies_the_first_network(intersect: bool) -> None:
    found = wc.bounds(toy(), OVERVIEW, FREE, LABEL, "deeppoly", intersect=intersect)
    assert_close(found.margins, torch.tensor([[0.125]], dtype=DOUBLE))
    assert_close(found.layers[2].lower, torch.tensor([[-0.5, 0.125]], dtype=DOUBLE))
    assert_close(found.layers[2].upper, torch.tensor([[0.5, 0.875]], dtype=DOUBLE))


@pytest.mark.parametrize("relaxation", ["hull", "planes", "box"])
def test_without_flow_the_second_network_is_not_certified(relaxation: Relaxation) -> None:
    network = toy(-0.125)
    alone = wc.bounds(network, OVERVIEW, FREE, LABEL, relaxation=relaxation, intersect=False)
    assert_close(alone.margins, torch.tensor([[-0.125]], dtype=DOUBLE))
    both = wc.bounds(network, OVERVIEW, FREE, LABEL, relaxation=relaxation)
    assert bool((both.margins >= alone.margins).all())
    verdict = wc.certify(network, OVERVIEW[0], 1, FREE, "deeppoly", intersect=False)
    assert isinstance(verdict, Verdict) and verdict.status == "unknown"


def test_better_slopes_certify_the_second_network_without_flow() -> None:
    """x4 + x5 >= x2 + x3 = x0 + 0.125 >= 0.125: with slope 1 below both neurons."""
    found = wc.bounds(toy(-0.125), OVERVIEW, FREE, LABEL, "alpha")
    assert_close(found.margins, torch.tensor([[0.125]], dtype=DOUBLE))


@pytest.mark.parametrize("row", [0, 1, 2])
def test_planes_with_flow_certify_the_second_network(row: int) -> None:
    network = toy(-0.125, row)
    alone = wc.bounds(network, OVERVIEW, SMOOTH, LABEL, relaxation="planes", intersect=False)
    assert_close(alone.margins, torch.tensor([[0.0625]], dtype=DOUBLE))
    both = wc.bounds(network, OVERVIEW, SMOOTH, LABEL, relaxation="planes")
    assert float(both.margins) >= 0.0625 - EXACT
    verdict = wc.certify(network, OVERVIEW[0], 1, SMOOTH, "deeppoly", relaxation="planes")
    assert isinstance(verdict, Verdict)
    assert verdict.status == "certified" and verdict.method == "deeppoly"


EFFORT = 0.01
"""By how much a search for duals may stay below the optimum: a sixth of the margin here."""


@pytest.mark.parametrize("method", ["deeppoly", "alpha"])
def test_the_hull_with_flow_is_no_worse_than_planes(method: str) -> None:
    network = toy(-0.125)
    found = wc.bounds(network, OVERVIEW, SMOOTH, LABEL, method)
    assert float(found.margins) >= 0.0625 - EFFORT
    assert float(found.margins) <= lowest_member(network) + EXACT


def lowest_member(network: Network) -> float:
    """The least margin over many members, ramps that spend all of gamma among them."""
    fields = SMOOTH.sample((3, 4), 200, generator=torch.Generator().manual_seed(0))
    scores = network(wc.warp(OVERVIEW.expand(200, -1, -1, -1), fields))
    return float((scores[:, 1] - scores[:, 0]).min())


def test_flow_makes_the_difference() -> None:
    """The bound falls as gamma grows, to what pixels that do not know each other give."""
    bounds = []
    for gamma in (0.0, 0.1, 0.25, 0.5, 1.0):
        threat = Threat("inf", 0.5, gamma)
        found = wc.bounds(
            toy(-0.125), OVERVIEW, threat, LABEL, relaxation="planes", intersect=False
        )
        bounds.append(float(found.margins))
    assert bounds == sorted(bounds, reverse=True)
    # 0.25 + 0.25 wx + 0.25 (wx - vx) with wx >= -0.5 and vx <= 0.5, vx - wx <= gamma
    wanted = [0.125 - 0.25 * min(gamma, 1.0) for gamma in (0.0, 0.1, 0.25, 0.5, 1.0)]
    assert bounds == pytest.approx(wanted, abs=EXACT)
    assert math.isclose(bounds[-1], -0.125, abs_tol=EXACT)
