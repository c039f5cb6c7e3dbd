"""Terminals: chosen by variation, connected by shortest paths, led along the grid for free."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from warpcert.flow.differences import adjoint, edges
from warpcert.flow.terminals import Terminals, needed_terminals

SQUARE = torch.tensor([[-1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0]])


def sparse_values(seed: int, count: int, size: tuple[int, int], rows: int = 3) -> Tensor:
    """Values (4, rows, h, w) that vary on ``count`` pixels only, more and less."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.zeros((4, rows, *size))
    for row in range(rows):
        where = torch.randperm(size[0] * size[1], generator=generator)[:count]
        values[:, row].view(4, -1)[:, where] = torch.rand((4, count), generator=generator)
    return values


def test_the_pixels_that_vary_most_are_chosen() -> None:
    values = sparse_values(0, 5, (6, 7))
    terminals = Terminals.of(values, SQUARE, 5)
    varies = (values.amax(0) - values.amin(0)) > 0
    for row in range(3):
        chosen = set(zip(terminals.top[row].tolist(), terminals.left[row].tolist(), strict=True))
        assert chosen == {(y, x) for y, x in varies[row].nonzero().tolist()}
        for slot in range(5):
            y, x = terminals.top[row, slot], terminals.left[row, slot]
            assert torch.equal(terminals.values[row, slot], values[:, row, y, x])


def test_points_of_their_own_are_chosen_with_the_pixels() -> None:
    values = sparse_values(1, 4, (5, 3))
    at = torch.rand((2, 4, 3, 5, 3))
    terminals = Terminals.of(values, at, 4)
    for row in range(3):
        for slot in range(4):
            y, x = terminals.top[row, slot], terminals.left[row, slot]
            assert torch.equal(terminals.at[row, slot], at[:, :, row, y, x].T)


def test_how_many_pixels_hold_the_variation() -> None:
    values = torch.zeros((2, 3, 2, 3))
    values[0, 0] = torch.tensor([[8.0, 1.0, 0.0], [0.5, 0.5, 0.0]])
    values[0, 1] = 1.0
    found = needed_terminals(values, 0.25, 0.15, 0.0)
    assert [each.tolist() for each in found] == [[1, 5, 1], [2, 6, 1], [4, 6, 1]]


@pytest.mark.parametrize("seed", range(4))
def test_edges_make_all_shortest_paths(seed: int) -> None:
    # Floyd and Warshall's answer over the edges is the distance along the grid, for every pair.
    terminals = Terminals.of(sparse_values(seed, 12, (9, 11)), SQUARE, 12)
    for row in range(3):
        far = torch.full((12, 12), 1000)
        far.fill_diagonal_(0)
        kept = terminals.real[row]
        start, end = terminals.start[row, kept], terminals.end[row, kept]
        far[start, end] = far[end, start] = terminals.length[row, kept]
        for k in range(12):
            far = torch.minimum(far, far[:, k, None] + far[None, k])
        y, x = terminals.top[row], terminals.left[row]
        wanted = (y[:, None] - y).abs() + (x[:, None] - x).abs()
        assert torch.equal(far, wanted)


def test_pixels_that_do_not_vary_have_no_edges() -> None:
    terminals = Terminals.of(sparse_values(3, 4, (6, 6)), SQUARE, 9)
    kept = terminals.values.amax(2) > terminals.values.amin(2)
    for row in range(3):
        assert int(kept[row].sum()) == 4
        real = terminals.real[row]
        assert bool(kept[row, terminals.start[row, real]].all())
        assert bool(kept[row, terminals.end[row, real]].all())


@pytest.mark.parametrize("seed", range(4))
def test_flow_along_the_grid_pushes_the_ends_alone_and_costs_no_more(seed: int) -> None:
    terminals = Terminals.of(sparse_values(seed, 10, (8, 9)), SQUARE, 10)
    generator = torch.Generator().manual_seed(seed)
    shape = (3, 2, terminals.start.shape[1])
    duals = torch.randn(shape, generator=generator, dtype=torch.float64) * terminals.real[:, None]
    along = terminals.along_grid(duals)
    slopes = adjoint(along)
    wanted = torch.zeros((3, 2, 8, 9), dtype=torch.float64)
    for row in range(3):
        for edge in range(shape[2]):
            for which, sign in ((terminals.start, -1), (terminals.end, 1)):
                slot = which[row, edge]
                y, x = terminals.top[row, slot], terminals.left[row, slot]
                wanted[row, :, y, x] += sign * duals[row, :, edge]
    torch.testing.assert_close(slopes, wanted, rtol=0, atol=1e-12)
    right, down = edges(along)
    cost = right.abs().sum((1, 2, 3)) + down.abs().sum((1, 2, 3))
    assert bool((cost <= (duals.abs() * terminals.length[:, None]).sum((1, 2)) + 1e-9).all())
    assert float(along[:, 0, :, :, -1].abs().max()) <= 1e-12, "an edge that leaves the image"
    assert float(along[:, 1, :, -1].abs().max()) <= 1e-12, "an edge that leaves the image"


def test_weights_are_put_where_the_terminals_are() -> None:
    values = sparse_values(5, 3, (4, 4))
    terminals = Terminals.of(values, SQUARE, 3)
    placed = terminals.placed(terminals.values, torch.zeros_like(values))
    assert torch.equal(placed, values)
