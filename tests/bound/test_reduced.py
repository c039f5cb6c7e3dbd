"""Reduced networks and their nodes: what they say holds at members, and nothing is left out."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
import torch
from torch import Tensor

from tests.bound.problems import DOUBLE, Problem, between_points, layered, problem
from tests.flow.pictures import draw
from warpcert import Box, Interval, Unsupported
from warpcert.bound import (
    Beta,
    BoxGround,
    Choice,
    Goal,
    Ground,
    Nodes,
    Reduced,
    careful,
    ground,
    propagate,
    reduce,
    straight_ends,
    tighten,
)
from warpcert.bound.layers import bound_layers
from warpcert.bound.reduced import Block
from warpcert.bound.substitution import Substitution
from warpcert.bound.weights import Weights
from warpcert.net import Hinge
from warpcert.net.relu import Relu

HINGED = [
    *(f"{name} on box" for name in ("relu", "leaky", "steep", "abs", "max pooling", "residual")),
    "dead on box",
    "relu on T2 far",
    "relu on smooth inside",
    "leaky on T1 colour",
    "residual on smooth",
    "affine on smooth colour",
]


@cache
def reduced_of(name: str, stages: bool = True) -> tuple[Problem, Reduced]:
    """A problem's first image, reduced."""
    asked = problem(name)
    first = torch.tensor([0])
    inputs = asked.inputs.select(first)
    network = asked.network.to(dtype=DOUBLE)
    known = bound_layers(network, inputs, [Substitution()] if stages else [])
    return asked, reduce(known, asked.rows[:1])


def at_members(asked: Problem, reduced: Reduced) -> tuple[list[Tensor], Tensor]:
    """True values of all blocks, and of the margins, at members of the first image's set."""
    values = [x[:, 0] for x in asked.values]
    steps = asked.network.steps
    found = [
        values[steps[block.number - 1].inputs[0]].flatten(1)[:, block.entries]
        for block in reduced.blocks
    ]
    return found, asked.margins[:, 0]


def nodes_at(reduced: Reduced, truth: Tensor, count: int, seed: int) -> tuple[Nodes, Tensor]:
    """Nodes with random decisions, and which members (n, N) keep to them."""
    generator = draw(seed)
    shape = (count, len(reduced))
    signs = torch.randint(-1, 2, shape, generator=generator, dtype=torch.int8)
    signs[torch.rand(shape, generator=generator) < 0.7] = 0
    sample = truth[torch.randint(0, len(truth), (count,), generator=generator)]
    signs[::2] = torch.where(sample[::2] >= 0, signs[::2].abs(), -signs[::2].abs())
    rows = torch.randint(0, len(reduced.margins), (count,), generator=generator)
    nodes = Nodes.roots(reduced, rows, torch.full((count,), -math.inf, dtype=DOUBLE))
    lower = torch.where(signs > 0, nodes.lower.clamp(min=0), nodes.lower)
    upper = torch.where(signs < 0, nodes.upper.clamp(max=0), nodes.upper)
    slopes = torch.rand(shape, generator=generator) * 2 - 0.5
    pulls = torch.rand(shape, generator=generator) * 3 - 1
    slopes[0], pulls[1:2], pulls[2:3] = math.nan, math.nan, math.inf
    made = replace(nodes, signs=signs, lower=lower, upper=upper, slopes=slopes, pulls=pulls)
    keep = ((truth[:, None] * signs) >= 0).all(2)
    return made, keep


@pytest.mark.parametrize("name", HINGED)
def test_blocks_are_the_networks_values(name: str) -> None:
    asked, reduced = reduced_of(name)
    truth, margins = at_members(asked, reduced)
    points = asked.members[:, 0].flatten(1)[:, reduced.pixels]
    units = points[:, :0]
    for block, true in zip((*reduced.blocks, reduced.margins), (*truth, margins), strict=True):
        value = points @ block.straight.matrix.T + units @ block.units.T + block.constant
        torch.testing.assert_close(block.values(points, units), value, rtol=1e-12, atol=1e-12)
        noise = 1e-11 * (1 + float(true.abs().max()))
        assert bool(((value - true).abs() <= block.error + noise).all())
        assert bool((block.error <= 1e-6).all())
        assert bool((value.abs() <= block.size + noise).all())
        if block.node is not None:
            units = torch.cat([units, block.node(true)], dim=1)
    whole = torch.cat(truth, dim=1) if truth else points[:, :0]
    assert bool((reduced.lower - 1e-9 <= whole).all() and (whole <= reduced.upper + 1e-9).all())


@pytest.mark.parametrize("name", HINGED)
def test_no_bound_of_a_node_is_above_a_member_that_keeps_to_its_decisions(name: str) -> None:
    asked, reduced = reduced_of(name, stages=False)
    truth, margins = at_members(asked, reduced)
    values = torch.cat(truth, dim=1) if truth else margins[:, :0]
    first = asked.inputs.select(torch.tensor([0]))
    grounds: list[Ground] = [BoxGround(reduced), ground(reduced, first, 3)]
    nodes, keep = nodes_at(reduced, values, 24, seed=len(name))
    noise = 1e-11 * (1 + float(margins.abs().max()))
    for where in grounds:
        ends = straight_ends(reduced, where)
        tried = [
            nodes,
            Beta(iterations=4)(reduced, where, nodes, Goal.margins(reduced, nodes.rows)),
        ]
        spread, empty = propagate(reduced, ends, nodes)
        assert not bool((keep & empty).any())
        inside = (spread.lower - 1e-9 <= values[:, None]) & (values[:, None] <= spread.upper + 1e-9)
        assert bool((inside.all(2) | ~keep).all())
        for number in range(len(reduced.blocks)):
            spread, gone = tighten(reduced, where, spread, number, Beta(iterations=2))
            assert not bool((keep & gone).any())
        inside = (spread.lower - 1e-9 <= values[:, None]) & (values[:, None] <= spread.upper + 1e-9)
        assert bool((inside.all(2) | ~keep).all())
        for some in (*tried, replace(spread, duals=None)):
            bound, _ = careful(reduced, where, some, Goal.margins(reduced, some.rows), 2)
            assert not bool(torch.isnan(bound).any())
            reached = margins[:, nodes.rows]
            assert bool(((bound <= reached + noise) | ~keep).all())


@pytest.mark.parametrize("name", ["relu on box", "leaky on box", "steep on box"])
def test_children_cover_their_parents(name: str) -> None:
    asked, reduced = reduced_of(name, stages=False)
    truth, _ = at_members(asked, reduced)
    values = torch.cat(truth, dim=1)
    nodes = Nodes.roots(reduced, torch.arange(2), torch.full((2,), -1.0, dtype=DOUBLE))
    for _ in range(4):
        chosen = Choice()(reduced, BoxGround(reduced), nodes)
        assert bool((chosen.neurons >= 0).all() and (chosen.gains >= 0).all())
        nodes = replace(nodes, choice=chosen.neurons).children()
    assert len(nodes) == 32
    inside = (nodes.lower <= values[:, None]) & (values[:, None] <= nodes.upper)
    signed = (values[:, None] * nodes.signs) >= 0
    for row in range(2):
        mine = nodes.rows == row
        assert bool((inside & signed).all(2)[:, mine].any(1).all())


def test_a_pull_is_worth_what_duality_says() -> None:
    """min of relu(x) - x/2 on [-1, 1] where x >= 0: 0, at slope 1, which pull 0 proves as well; the
    margin x where x >= 0 has the minimum 0 only with the pull 1."""
    network = layered(([[1.0]], [0.0]), ([[1.0], [0.5]], [0.0, 0.0]))
    inputs = between_points([-1.0], [1.0])
    rows = torch.tensor([[[1.0, -1.0]]], dtype=DOUBLE)
    reduced = reduce(bound_layers(network, inputs), rows)
    nodes = Nodes.roots(reduced, torch.tensor([0]), torch.tensor([-9.0], dtype=DOUBLE))
    on = replace(nodes, choice=torch.tensor([0])).children()[torch.tensor([0])]
    on = replace(on, slopes=torch.ones((1, 1)))
    goal = Goal.margins(reduced, on.rows)
    where = BoxGround(reduced)
    plain, _ = careful(reduced, where, on, goal)
    assert float(plain) == pytest.approx(-0.5, abs=1e-9)
    best, _ = careful(reduced, where, replace(on, pulls=torch.tensor([[0.5]])), goal)
    assert float(best) == pytest.approx(0.0, abs=1e-9)
    too_much, _ = careful(reduced, where, replace(on, pulls=torch.tensor([[2.0]])), goal)
    assert float(too_much) == pytest.approx(-1.5, abs=1e-9)
    wrong, _ = careful(reduced, where, replace(on, pulls=torch.tensor([[-1.0]])), goal)
    assert float(wrong) == float(plain)  # a negative pull would prove nonsense
    found = Beta(iterations=60, pull_rate=0.2)(reduced, where, on, goal)
    bound, _ = careful(reduced, where, found, goal)
    assert float(bound) == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("seed", range(6))
def test_children_begin_where_their_parents_ended(seed: int) -> None:
    """With the same slopes and pulls no child is bounded below its parent, whatever those are."""
    generator = draw(seed)
    weights = [torch.randn(shape, generator=generator).tolist() for shape in ((6, 3), (2, 6))]
    offset = torch.randn(6, generator=generator).mul(0.3).tolist()
    network = layered((weights[0], offset), (weights[1], [0.0, 0.0]))
    rows = torch.tensor([[[1.0, -1.0]]], dtype=DOUBLE)
    reduced = reduce(bound_layers(network, between_points([-1.0] * 3, [1.0] * 3)), rows)
    where = BoxGround(reduced)
    nodes = Nodes.roots(reduced, torch.tensor([0]), torch.tensor([-9.0], dtype=DOUBLE))
    nodes = replace(nodes, slopes=torch.rand((1, len(reduced)), generator=generator))
    for neuron in range(len(reduced)):
        parents, _ = careful(reduced, where, nodes, Goal.margins(reduced, nodes.rows))
        choice = torch.full_like(nodes.choice, neuron)
        nodes = replace(nodes, choice=choice).children()
        given, _ = careful(reduced, where, nodes, Goal.margins(reduced, nodes.rows))
        assert bool((given >= parents.repeat(2) - 1e-9).all())
        found = Beta(iterations=1)(reduced, where, nodes, Goal.margins(reduced, nodes.rows))
        assert torch.equal(found.slopes, nodes.slopes)  # the first thing that a search looks at
        pulls = torch.rand(nodes.pulls.shape, generator=generator) * nodes.signs.abs()
        nodes = replace(nodes, pulls=pulls)


@pytest.mark.parametrize(("pixel", "slope"), [(-2.0, 1.0), (0.0, 0.3)])
def test_searches_take_exact_lines_where_the_minimum_keeps_to_the_sign(
    pixel: float, slope: float
) -> None:
    """relu(x + 0.9) - 2 x is least at x = 1, where x + 0.9 >= 0 holds; relu(x + 0.9) by the line
    of slope 0.3 at x = -1, where it does not."""
    network = layered(
        ([[1.0], [1.0], [-1.0]], [0.9, 2.0, 2.0]),  # the last two are never bent
        ([[1.0, pixel / 2, -pixel / 2], [0.0, 0.0, 0.0]], [0.0, 0.0]),
    )
    rows = torch.tensor([[[1.0, -1.0]]], dtype=DOUBLE)
    reduced = reduce(bound_layers(network, between_points([-1.0], [1.0])), rows)
    nodes = Nodes.roots(reduced, torch.tensor([0]), torch.tensor([-9.0], dtype=DOUBLE))
    on = replace(nodes, choice=torch.tensor([0])).children()[torch.tensor([0])]
    on = replace(on, slopes=torch.tensor([[0.3]]))
    goal = Goal.margins(reduced, on.rows)
    search = Beta(iterations=2, rate=0.0, pull_rate=0.0)
    found = search(reduced, BoxGround(reduced), on, goal)
    assert float(found.slopes) == pytest.approx(slope)


def test_a_node_without_members_is_empty() -> None:
    """Of x - 0.5 >= 0 and -x - 0.5 >= 0 one decides the other."""
    network = layered(([[1.0], [-1.0]], [-0.5, -0.5]), ([[1.0, 1.0]] * 2, [0.0, 0.0]))
    reduced = reduce(
        bound_layers(network, between_points([-1.0], [1.0])),
        torch.tensor([[[1.0, -1.0]]], dtype=DOUBLE),
    )
    nodes = Nodes.roots(reduced, torch.tensor([0]), torch.tensor([-9.0], dtype=DOUBLE))
    both = torch.ones((1, 2), dtype=torch.int8)
    nodes = replace(nodes, signs=both, lower=nodes.lower.clamp(min=0), pulls=torch.ones((1, 2)) * 9)
    bound, _ = careful(reduced, BoxGround(reduced), nodes, Goal.margins(reduced, nodes.rows))
    assert float(bound) > 0  # the two pulls together are -18 * (-1) / 2


def test_what_has_no_hinges_is_refused_by_name() -> None:
    asked = problem("sigmoid on box")
    known = bound_layers(asked.network.to(dtype=DOUBLE), asked.inputs.select(torch.tensor([0])))
    with pytest.raises(Unsupported, match="branching needs ReLUs and their like, got Sigmoid"):
        reduce(known, asked.rows[:1])
    whole = problem("relu on box")
    with pytest.raises(ValueError, match="one image at a time"):
        reduce(bound_layers(whole.network.to(dtype=DOUBLE), whole.inputs), whole.rows[:1])


def test_pixels_at_rest_are_left_out_and_put_back() -> None:
    _, reduced = reduced_of("relu on box")
    assert 0 < len(reduced.pixels) < 25
    x = torch.rand((3, len(reduced.pixels)))
    whole = reduced.image(x, torch.ones(reduced.shape))
    assert bool((whole.flatten(1)[:, reduced.pixels] == x).all())
    rest = torch.ones(25, dtype=torch.bool)
    rest[reduced.pixels] = False
    assert bool((whole.flatten(1)[:, rest] == 1).all())


@pytest.mark.parametrize("slope", [0.2, 2.5])
def test_an_undecided_leaky_hinge_is_bounded_by_its_own_lines(slope: float) -> None:
    from warpcert.net.leaky import LeakyRelu

    network = layered(([[1.0]], [0.0]), ([[1.0], [0.0]], [0.0, 0.0]), activation=LeakyRelu(slope))
    for sign in (1.0, -1.0):
        rows = torch.tensor([[[sign, 0.0]]], dtype=DOUBLE)
        inputs = Box(Interval(*(torch.full((1, 1, 1, 1), x, dtype=DOUBLE) for x in (-1.0, 2.0))))
        reduced = reduce(bound_layers(network, inputs), rows)
        nodes = Nodes.roots(reduced, torch.tensor([0]), torch.tensor([-9.0], dtype=DOUBLE))
        hinge = reduced.blocks[0].node
        assert isinstance(hinge, Hinge)
        found = Beta(iterations=30)(
            reduced, BoxGround(reduced), nodes, Goal.margins(reduced, nodes.rows)
        )
        bound, _ = careful(reduced, BoxGround(reduced), found, Goal.margins(reduced, found.rows))
        ends = torch.tensor([-1.0, 0.0, 2.0], dtype=DOUBLE)
        least = float((sign * hinge(ends)).min())
        assert float(bound) == pytest.approx(least, abs=1e-6)


def test_sums_that_cancel_pay_for_their_rounding() -> None:
    # Positive neurons of very different sizes whose sum nearly vanishes, against rationals.
    for seed in range(60):
        generator = torch.Generator().manual_seed(seed)
        count, pixels = 40, seed % 3
        low = torch.rand(pixels, generator=generator, dtype=DOUBLE)
        high = low + (1e-9 if seed % 2 else 1.0)
        matrix = torch.randn((count, pixels), generator=generator, dtype=DOUBLE)
        sizes = 10.0 ** torch.randint(-3, 9, (count,), generator=generator).to(DOUBLE)
        constant = 10 + sizes * torch.rand(count, generator=generator, dtype=DOUBLE)
        weights = torch.randn(count, generator=generator, dtype=DOUBLE)
        weights[-1] = -(weights[:-1] @ constant[:-1]) / constant[-1]
        where = torch.where((weights @ matrix) > 0, low, high)
        point = [Fraction(x) for x in where.tolist()]
        truth = Fraction(0)
        for weight, row, more in zip(
            weights.tolist(), matrix.tolist(), constant.tolist(), strict=True
        ):
            terms = (Fraction(a) * x for a, x in zip(row, point, strict=True))
            truth += Fraction(weight) * sum(terms, Fraction(more))
        top = 1.001 * (matrix.abs() @ high + constant)
        none = torch.zeros(count, dtype=DOUBLE)
        nothing = matrix[:, :0]
        given = torch.arange(count), Weights(matrix), nothing, constant, none, top
        block, still = Block(1, Relu(), *given), Weights(torch.zeros((1, pixels), dtype=DOUBLE))
        size = (weights.abs() @ top)[None]
        given = torch.arange(1), still, weights[None], none[:1], none[:1], size
        margin = Block(0, None, *given)
        shape, places = (1, 1, max(pixels, 1)), torch.arange(pixels)
        reduced = Reduced(shape, (block,), margin, places, low, high, none, top)
        nodes = Nodes.roots(reduced, torch.arange(1), torch.full((1,), -math.inf, dtype=DOUBLE))
        found = careful(reduced, BoxGround(reduced), nodes, Goal.margins(reduced, nodes.rows))[0]
        assert Fraction(float(found)) <= truth
