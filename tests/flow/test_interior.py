"""The interior-point method against HiGHS on the same small programs."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.flow.problems import disc, network_rows, square
from tests.flow.test_terminals import sparse_values
from tests.oracle import hull_optimum
from warpcert import DeformedImage, Threat, support
from warpcert.core import clock
from warpcert.flow.dual import dual_bound
from warpcert.flow.interior import interior
from warpcert.flow.points import Points
from warpcert.flow.terminals import Terminals
from warpcert.solve import Polyhedral

DOUBLE = torch.float64


def height(terminals: Terminals, duals: Tensor, gamma: float) -> Tensor:
    """The dual function of the terminals' problem."""
    slopes = torch.zeros((*terminals.top.shape, 2), dtype=DOUBLE)
    flow = (duals * terminals.real[:, None]).transpose(1, 2)
    for which, sign in ((terminals.start, -1), (terminals.end, 1)):
        slopes.scatter_add_(1, which[..., None].expand_as(flow), sign * flow)
    at = terminals.at.to(DOUBLE)
    tilted = torch.einsum("nmd,kd->nmk", slopes, at)
    least = (terminals.values.to(DOUBLE) + tilted).amin(2).sum(1)
    return least - gamma * (flow.abs() * terminals.length[..., None]).sum((1, 2))


def values_on(points: Tensor, seed: int, count: int, size: tuple[int, int]) -> Tensor:
    """Random values (K, 3, h, w) on ``count`` pixels, of very different sizes."""
    generator = torch.Generator().manual_seed(seed)
    values = sparse_values(seed, count, size)[:1].expand(len(points), -1, -1, -1)
    spread = 10.0 ** (-3 * torch.rand(values.shape[1:], generator=generator))
    return values * spread * torch.rand(values.shape, generator=generator)


@pytest.mark.parametrize("gamma", [0.002, 0.05, 0.4])
@pytest.mark.parametrize("points", [square(0.5), square(1.3), disc(2.0, 0.7, rim=24)])
def test_it_finds_the_optimum(points: Tensor, gamma: float) -> None:
    # All pixels that vary are terminals, so that the program on the whole grid has the same value.
    values = values_on(points, 1, 9, (7, 8))
    terminals = Terminals.of(values, points.T.to(torch.float32), 9)
    duals, weights = interior(terminals, gamma, 20)
    reached = height(terminals, duals, gamma)
    free = values.amin(0).sum((1, 2))
    for row in range(3):
        most = hull_optimum(values[:, row].to(DOUBLE).numpy(), points.numpy(), gamma)
        gain = most - float(free[row])
        assert gain > 0
        assert float(reached[row]) <= most + 1e-6 * abs(most)
        assert float(reached[row]) >= most - 1e-3 * gain
        mean = float((weights[row] * terminals.values[row]).sum())
        assert mean == pytest.approx(most, abs=1e-3 * gain + 1e-4)


def test_weights_are_shares() -> None:
    points = square(0.5)
    terminals = Terminals.of(values_on(points, 2, 9, (7, 8)), points.T.to(torch.float32), 9)
    _, weights = interior(terminals, 0.05, 12)
    assert float(weights.min()) >= 0
    torch.testing.assert_close(weights.sum(2), torch.ones_like(weights[..., 0]))


def test_pixels_with_points_of_their_own() -> None:
    # Moving all points of all pixels alike changes nothing but what a translation costs: nothing.
    points = square(0.5)
    values = values_on(points, 3, 9, (7, 8))
    shared = points.T.to(torch.float32)
    moved = (points.T + torch.tensor([[0.25], [-0.5]])).to(torch.float32)
    each = moved[:, :, None, None, None].expand(2, *values.shape)
    one, other = (Terminals.of(values, at, 9) for at in (shared, each))
    first, _ = interior(one, 0.05, 20)
    second, _ = interior(other, 0.05, 20)
    torch.testing.assert_close(
        height(one, first, 0.05), height(one, second, 0.05), atol=1e-5, rtol=0
    )


def test_nothing_to_gain_is_nothing_wrong() -> None:
    points = square(0.5)
    flat = Terminals.of(torch.zeros((len(points), 2, 4, 4)), points.T.to(torch.float32), 6)
    duals, _ = interior(flat, 0.1, 10)
    assert bool(torch.isfinite(duals).all())
    still = Terminals.of(values_on(points, 4, 5, (4, 4)), torch.zeros((2, len(points))), 6)
    duals, _ = interior(still, 0.0, 10)
    assert bool(torch.isfinite(duals).all())


def test_it_looks_at_the_clock() -> None:
    points = square(0.5)
    terminals = Terminals.of(values_on(points, 5, 9, (7, 8)), points.T.to(torch.float32), 9)
    with pytest.raises(clock.TimeUp), clock.limited(0.0):
        interior(terminals, 0.1, 10)


@pytest.mark.parametrize("gamma", [0.3, 0.6])
def test_regions_cut_at_the_border(gamma: float) -> None:
    # A pixel at the border moves inwards only: its points lie to one side of no displacement.
    images, rows = network_rows(1, 8)
    inside, free = (Threat("inf", 1.0, g, border="inside") for g in (gamma, math.inf))
    deformed = DeformedImage(images, inside)
    most = Polyhedral(deformed).minimise(rows).bound
    gain = most - support(images, free, rows)
    assert bool((gain > 0).all())
    points = Points.of(images, inside.region((8, 8)), 0)
    terminals = Terminals.of(
        points.combine(rows)[:, 0], points.at[:, :, 0].expand(-1, -1, 2, -1, -1), 64
    )
    flow, _ = interior(terminals, gamma, 20)
    duals = terminals.along_grid(flow)[None]
    found = dual_bound(images, inside.region((8, 8)), rows, gamma, duals)
    assert bool((found >= most - 0.01 * gain).all())
