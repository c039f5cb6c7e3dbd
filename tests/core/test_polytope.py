"""Rows, Polytope and Box.polytope: read back as dense matrices, and by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from warpcert import Box, Interval, Unsound
from warpcert.core.polytope import Block, Polytope, Rows


def blocks() -> list[Block]:
    return [
        Block(np.array([[0, 2], [1, 0]]), np.array([[1.0, -2.0], [0.0, 3.0]]),
              np.array([-1.0, -np.inf]), np.array([1.0, 6.0])),
        Block(np.array([[2, 1, 0]]), np.array([[4.0, 5.0, 6.0]]), np.zeros(1), np.full(1, np.inf)),
    ]  # fmt: skip


DENSE = np.array([[1.0, 0.0, -2.0], [3.0, 0.0, 0.0], [6.0, 5.0, 4.0]])


def small() -> Polytope:
    entries = np.arange(3).reshape(1, 1, 3)
    return Polytope(-np.ones(3), np.array([1.0, 2.0, 1.0]), Rows.of(blocks()), entries, entries)


def test_blocks_are_joined_and_zeros_left_out() -> None:
    rows = Rows.of(blocks())
    assert len(rows) == 3
    assert rows.starts.tolist() == [0, 2, 3, 6]
    assert rows.columns.tolist() == [0, 2, 0, 2, 1, 0]
    assert rows.numbers.tolist() == [0, 0, 1, 2, 2, 2]
    assert rows.lower.tolist() == [-1, -np.inf, 0] and rows.upper.tolist() == [1, 6, np.inf]


def test_products_are_those_of_the_dense_matrix() -> None:
    z = np.array([0.5, -1.5, 2.0])
    assert Rows.of(blocks()).times(z).tolist() == (DENSE @ z).tolist()


def test_no_rows() -> None:
    rows = Rows.of([])
    assert len(rows) == 0 and rows.times(np.ones(4)).shape == (0,)


def test_by_how_much_a_point_leaves() -> None:
    polytope, rows = small(), small().rows
    for z in np.random.default_rng(0).uniform(-2, 2, (20, 3)):
        beyond = [polytope.lower - z, z - polytope.upper, rows.lower - DENSE @ z]
        worst = max(part.max() for part in [*beyond, DENSE @ z - rows.upper])
        assert polytope.excess(z) == pytest.approx(worst, abs=1e-12)
    assert polytope.excess(np.array([0.0, np.nan, 0.0])) == np.inf


def test_excess_by_hand() -> None:
    assert small().excess(np.array([0.5, 0.5, 0.5])) == -0.5
    assert small().excess(np.array([1.25, 2.0, 0.5])) == 0.25
    assert small().excess(np.array([1.0, -1.0, -1.0])) == 3.0


@pytest.mark.parametrize(
    "change",
    [
        {"values": np.full(6, np.inf)},
        {"lower": np.full(3, 7.0)},
        {"upper": np.full(3, np.nan)},
        {"starts": np.array([0, 2, 6])},
        {"starts": np.array([0, 2, 3, 5])},
        {"columns": np.zeros(5, dtype=np.int64)},
    ],
    ids=["infinite", "crossed", "nan", "few", "short", "columns"],
)
def test_broken_rows_are_unsound(change: dict[str, np.ndarray]) -> None:
    with pytest.raises(Unsound):
        replace(Rows.of(blocks()), **change)


@pytest.mark.parametrize(
    "change",
    [
        {"lower": np.full(3, -np.inf)},
        {"upper": np.full(3, np.nan)},
        {"upper": np.full(3, -2.0)},
        {"lower": np.zeros(2), "upper": np.ones(2)},
        {"image": np.array([[[3]]])},
        {"parameters": np.array([[[-1]]])},
    ],
    ids=["infinite", "nan", "crossed", "few", "image", "parameters"],
)
def test_broken_polytopes_are_unsound(change: dict[str, Any]) -> None:
    with pytest.raises(Unsound):
        replace(small(), **change)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_polytope_of_a_box_is_its_ends(dtype: torch.dtype) -> None:
    centre = torch.rand((2, 3, 4, 5), dtype=dtype)
    box = Box(Interval(centre - 0.1, centre + 0.3))
    first, second = box.polytope()
    assert first.image.shape == (3, 4, 5) and len(first.rows) == 0
    assert np.array_equal(second.lower[second.image], box.interval.lower[1].double().numpy())
    assert np.array_equal(second.upper[second.parameters], box.interval.upper[1].double().numpy())
    assert first.excess(centre[0].double().numpy().ravel()) <= 0
