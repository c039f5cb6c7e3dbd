"""Cells: together they cover a region, and what they say of it is true."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from tests.flow.agree import NORMS
from tests.flow.pictures import picture
from tests.oracle import dense_samples, value
from warpcert.flow.cells import Cell, cells
from warpcert.flow.region import Region

DOUBLE = torch.float64
HEIGHT, WIDTH = 3, 4
BOXES = [
    None,
    (0.2, 9.0, -9.0, 9.0),
    (-0.4, 0.3, 0.25, 9.0),
    (-9.0, -0.1, -9.0, -0.1),
    (0.5, 0.5, -9.0, 9.0),
    (-0.25, -0.25, 0.5, 0.5),
    (1.0, 9.0, -9.0, 0.0),
]
ULPS = 1e-15
"""Corners and curves are computed with a few roundings."""


def region(norm: float, delta: float, box: tuple[float, float, float, float] | None) -> Region:
    x0, x1, y0, y1 = box or (-delta, delta, -delta, delta)
    lower = torch.tensor([max(x0, -delta), max(y0, -delta)], dtype=DOUBLE)
    upper = torch.tensor([min(x1, delta), min(y1, delta)], dtype=DOUBLE)
    return Region(norm, delta, lower, upper)


CUTS = [
    (norm, delta, box)
    for norm, delta, box in itertools.product(NORMS, (0.6, 1.0, 1.7, 2.0, 6.3), BOXES)
    if (norm, delta, box) != (1.0, 0.6, (-0.25, -0.25, 0.5, 0.5))
    and not (delta < 1 and box == (1.0, 9.0, -9.0, 0.0))
]


def norm_of(v: float, w: float, norm: float) -> float:
    return {1.0: abs(v) + abs(w), 2.0: math.hypot(v, w)}.get(norm, max(abs(v), abs(w)))


def holds(cell: Cell, x: float, y: float) -> bool:
    v, w = cell.across * x, cell.down * y
    return bool(cell.valid) and (
        float(cell.v0) - ULPS <= v <= float(cell.v1) + ULPS
        and float(cell.w0) - ULPS <= w <= float(cell.w1) + ULPS
    )


def nearest_corner(cell: Cell) -> tuple[int, int]:
    return cell.across * cell.column, cell.down * cell.row


@pytest.mark.parametrize(("norm", "delta", "box"), CUTS)
def test_cells_cover_the_region(
    norm: float, delta: float, box: tuple[float, float, float, float] | None
) -> None:
    pieces = list(cells(region(norm, delta, box), HEIGHT, WIDTH))
    for x, y in dense_samples(norm, delta, 120, np.random.default_rng(0), box).tolist():
        assert any(holds(cell, x, y) for cell in pieces), (x, y)


@pytest.mark.parametrize(("norm", "delta", "box"), CUTS)
def test_all_corners_lie_in_the_region(
    norm: float, delta: float, box: tuple[float, float, float, float] | None
) -> None:
    where = region(norm, delta, box)
    for cell in cells(where, HEIGHT, WIDTH):
        assert bool(cell.valid)
        assert len(cell.corners) == 5
        for v, w in cell.corners:
            point = torch.stack([cell.across * v, cell.down * w])
            assert bool((point >= where.lower - 4 * ULPS).all())
            assert bool((point <= where.upper + 4 * ULPS).all())
            assert norm_of(float(v), float(w), norm) <= delta * (1 + 4 * ULPS)
            assert float(v) >= 0 and float(w) >= 0


@pytest.mark.parametrize(("norm", "delta", "box"), CUTS)
def test_curves_lie_on_the_ball(
    norm: float, delta: float, box: tuple[float, float, float, float] | None
) -> None:
    curved = 0
    for cell in cells(region(norm, delta, box), HEIGHT, WIDTH):
        v1, w1 = float(cell.v1), float(cell.w1)
        assert bool(cell.curved) == (norm_of(v1, w1, norm) > delta)
        if bool(cell.curved):
            curved += 1
            (pv, pw), (qv, qw) = ((float(v), float(w)) for v, w in (cell.p, cell.q))
            assert norm_of(pv, pw, norm) == pytest.approx(delta, abs=1e-12)
            assert norm_of(qv, qw, norm) == pytest.approx(delta, abs=1e-12)
            # From p, furthest out across, to q, furthest out down.
            assert pv >= qv - 4 * ULPS and qw >= pw - 4 * ULPS
            assert pv == v1 and qw == w1
        else:
            assert (float(cell.p[0]), float(cell.p[1])) == (v1, w1)
            assert (float(cell.q[0]), float(cell.q[1])) == (v1, w1)
    if norm == math.inf:
        assert curved == 0
    elif box is None and delta < 2:
        assert curved >= 4


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.6, 1.7, 6.3])
def test_cells_do_not_overlap_and_the_nearest_come_first(norm: float, delta: float) -> None:
    pieces = list(cells(region(norm, delta, None), HEIGHT, WIDTH))
    keys = [(*nearest_corner(cell), cell.across, cell.down) for cell in pieces]
    assert len(set(keys)) == len(keys)
    rank = [math.hypot(cell.column + 0.5, cell.row + 0.5) for cell in pieces]
    assert rank == sorted(rank)


@pytest.mark.parametrize(
    ("delta", "count"), [(0.5, 4), (1.0, 4), (1.5, 16), (2.5, 36), (3.5, 6 * 8), (50.0, 6 * 8)]
)
def test_number_of_cells(delta: float, count: int) -> None:
    # Beyond the image one cell on each side stands for all: 2 HEIGHT times 2 WIDTH at most.
    assert len(list(cells(region(math.inf, delta, None), HEIGHT, WIDTH))) == count


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.6, 1.7, 6.3])
def test_offsets_are_the_pixels_to_interpolate_between(norm: float, delta: float) -> None:
    image = picture("random", 1, HEIGHT, WIDTH)[0, 0]

    def at(i: int, j: int, offset: tuple[int, int]) -> float:
        x, y = offset
        return image[min(max(i + y, 0), HEIGHT - 1), min(max(j + x, 0), WIDTH - 1)].item()

    for cell in cells(region(norm, delta, None), HEIGHT, WIDTH):
        for (v, w), i, j in itertools.product(cell.corners, range(HEIGHT), range(WIDTH)):
            s, t = float(v) - cell.column, float(w) - cell.row
            near, across, down, both = (at(i, j, offset) for offset in cell.offsets)
            mixed = (1 - t) * ((1 - s) * near + s * across) + t * ((1 - s) * down + s * both)
            exact = value(image.numpy(), i, j, cell.across * float(v), cell.down * float(w))
            assert mixed == pytest.approx(float(exact), abs=1e-12)


def test_pixels_may_differ() -> None:
    lower = torch.tensor([[[-0.5, -0.5], [0.25, 0.0]]], dtype=DOUBLE)
    upper = torch.tensor([[[0.0, 0.5], [0.5, 0.0]]], dtype=DOUBLE)
    pieces = list(cells(Region(math.inf, 0.5, lower, upper), 1, 2))
    valid = {(cell.across, cell.down): cell.valid[0].tolist() for cell in pieces}
    # The first pixel may only go left, the second only right; both touch the axis y = 0.
    assert valid[-1, -1] == [True, False] and valid[1, 1] == [True, True]
    right = next(cell for cell in pieces if (cell.across, cell.down) == (1, 1))
    assert right.v0[0].tolist() == [0.0, 0.25] and right.v1[0].tolist() == [0.0, 0.5]
