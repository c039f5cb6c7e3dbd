"""Planes below points: as high at the target as a linear program can make them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.oracle import plane_optimum
from warpcert.flow.hull import supporting_slopes

DOUBLE = torch.float64
TIGHT = 1e-9
CORNERS = [(-1.0, -1.0), (1.0, -1.0), (0.0, 1.5)]


def scattered(count: int, rng: np.random.Generator) -> np.ndarray:
    """A triangle around all others, whose centroid is the origin up to the others' mean."""
    inner = rng.uniform(-0.4, 0.4, (count - 3, 2))
    return np.concatenate([CORNERS, inner])


def grid(lines: int) -> np.ndarray:
    """A square grid, with a triangle of its corners first (the centroid is on its edge)."""
    ticks = np.linspace(-1, 1, lines)
    points = [(x, y) for y in ticks for x in ticks]
    return np.array(points)


def solve(points: np.ndarray, values: np.ndarray, triangle: list[int]) -> tuple[Tensor, Tensor]:
    """Slopes (n, 2) for values (n, K) at the centroid of the points, and the triangles."""
    where = torch.from_numpy(points)[:, None].expand(-1, len(values), -1)
    target = torch.from_numpy(points.mean(0)).expand(len(values), 2)
    start = torch.tensor(triangle).expand(len(values), 3)
    return supporting_slopes(where, torch.from_numpy(values.T.copy()), target, start)


def summed(points: np.ndarray, values: np.ndarray, slope: Tensor) -> float:
    """The objective of the highest plane of that slope below the points."""
    along = points @ slope.numpy()
    return float((values - along).min() * len(points) + along.sum())


@pytest.mark.parametrize("count", [4, 6, 9, 16, 25, 49, 81])
@pytest.mark.parametrize("kind", ["random", "binary", "bowl", "dome", "flat", "steps"])
def test_scattered_points(count: int, kind: str) -> None:
    rng = np.random.default_rng(count)
    points = scattered(count, rng)
    square = (points**2).sum(1)
    values = {
        "random": rng.random((8, count)),
        "binary": rng.integers(0, 2, (8, count)).astype(float),
        "bowl": square + rng.normal(size=(8, 2)) @ points.T,
        "dome": -square + rng.normal(size=(8, 2)) @ points.T,
        "flat": np.full((8, count), 0.3),
        "steps": rng.integers(0, 4, (8, count)) / 255,
    }[kind]
    slopes, _ = solve(points, values, [0, 1, 2])
    for slope, value in zip(slopes, values, strict=True):
        best = plane_optimum(points, value)
        assert summed(points, value, slope) == pytest.approx(best, abs=TIGHT * count)


@pytest.mark.parametrize("lines", [2, 3, 5, 7])
@pytest.mark.parametrize("levels", [2, 3, 256])
def test_grids_with_ties(lines: int, levels: int) -> None:
    rng = np.random.default_rng(lines)
    points = grid(lines)
    values = rng.integers(0, levels, (12, lines * lines)) / (levels - 1)
    last = lines * lines - 1
    slopes, _ = solve(points, values, [0, lines - 1, last])
    for slope, value in zip(slopes, values, strict=True):
        best = plane_optimum(points, value)
        assert summed(points, value, slope) == pytest.approx(best, abs=TIGHT * len(points))


def test_the_plane_through_three_points() -> None:
    points = np.array(CORNERS)
    plane = 0.5 + points @ np.array([0.25, -2.0])
    slopes, triangle = solve(points, plane[None], [0, 1, 2])
    torch.testing.assert_close(slopes, torch.tensor([[0.25, -2.0]], dtype=DOUBLE))
    assert sorted(triangle[0].tolist()) == [0, 1, 2]


def test_flat_points_have_no_slope() -> None:
    points = scattered(20, np.random.default_rng(0))
    slopes, _ = solve(points, np.full((1, 20), 0.7), [0, 1, 2])
    assert slopes.abs().max() == 0


def test_the_last_triangle_holds_the_target_and_starts_the_next_search() -> None:
    rng = np.random.default_rng(3)
    points, values = scattered(30, rng), rng.random((6, 30))
    slopes, triangle = solve(points, values, [0, 1, 2])
    centre = points.mean(0)
    for corners in triangle.numpy():
        system = np.vstack([points[corners].T, np.ones(3)])
        assert np.linalg.solve(system, [*centre, 1.0]).min() >= -1e-9
    where = torch.from_numpy(points)[:, None].expand(-1, 6, -1)
    target = torch.from_numpy(centre).expand(6, 2)
    again, same = supporting_slopes(where, torch.from_numpy(values.T.copy()), target, triangle)
    torch.testing.assert_close(again, slopes)
    assert torch.equal(same, triangle)


def test_places_may_be_shared_by_all_problems() -> None:
    rng = np.random.default_rng(4)
    points, values = scattered(12, rng), rng.random((5, 12))
    own, _ = solve(points, values, [0, 1, 2])
    target = torch.from_numpy(points.mean(0)).expand(5, 2)
    triangle = torch.tensor([0, 1, 2]).expand(5, 3)
    shared, _ = supporting_slopes(
        torch.from_numpy(points)[:, None], torch.from_numpy(values.T.copy()), target, triangle
    )
    assert torch.equal(shared, own)


def test_other_targets_than_the_centroid() -> None:
    # Below |x| the best plane at x = 0.25 is x itself, at x = -0.25 it is -x.
    points = torch.tensor(
        [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0), (0.0, -1.0), (0.0, 1.0)]
    )
    where = points.to(DOUBLE)[:, None].expand(-1, 2, -1)
    target = torch.tensor([(0.25, 0.1), (-0.25, 0.1)], dtype=DOUBLE)
    height = where[..., 0].abs()
    slopes, _ = supporting_slopes(where, height, target, torch.tensor([[1, 2, 3], [0, 2, 3]]))
    torch.testing.assert_close(slopes, torch.tensor([[1.0, 0.0], [-1.0, 0.0]], dtype=DOUBLE))


def test_each_problem_is_its_own() -> None:
    rng = np.random.default_rng(5)
    points, values = scattered(15, rng), rng.random((7, 15))
    together, _ = solve(points, values, [0, 1, 2])
    alone = torch.cat([solve(points, value[None], [0, 1, 2])[0] for value in values])
    assert torch.equal(together, alone)
    assert math.isfinite(float(together.sum()))
