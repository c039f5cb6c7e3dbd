"""Weights: thin and thick matrices are multiplied alike, row by row and whole."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from warpcert.bound.weights import THIN, Weights


def matrix(share: float, dtype: torch.dtype) -> Tensor:
    """A matrix (23, 40) with about so many entries, one empty row and one empty column."""
    generator = torch.Generator().manual_seed(int(100 * share))
    found = torch.randn((23, 40), generator=generator, dtype=dtype)
    found[torch.rand((23, 40), generator=generator) > share] = 0.0
    found[5], found[:, 7] = 0.0, 0.0
    return found


@pytest.fixture(params=[0.05, 0.9], ids=["thin", "thick"])
def share(request: pytest.FixtureRequest) -> float:
    return float(request.param)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_are_those_of_the_matrix(share: float, dtype: torch.dtype) -> None:
    whole = matrix(share, dtype)
    weights, off = Weights(whole), 1e-13 if dtype == torch.float64 else 1e-5
    able = torch.backends.mkl.is_available()
    assert (weights._sparse is not None) == (share < THIN and able)
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn((6, 40), generator=generator, dtype=dtype)
    some = torch.randn((6, 23), generator=generator, dtype=dtype)
    torch.testing.assert_close(weights.back(rows, some), rows + some @ whole, rtol=0, atol=off)
    torch.testing.assert_close(weights.forth(rows), rows @ whole.T, rtol=0, atol=off)
    assert len(weights) == 23
    none = rows[:0]
    assert weights.back(none, some[:0]).shape == (0, 40) and weights.forth(none).shape == (0, 23)


def test_rows_are_taken_in_the_order_asked_for(share: float) -> None:
    whole, index = matrix(share, torch.float64), torch.tensor([3, 0, 22, 3, 5])
    assert torch.equal(Weights(whole).take(index), whole[index])
    assert torch.equal(Weights(whole).take(index[:0]), whole[:0])


def test_float32_is_the_same_matrix_rounded(share: float) -> None:
    whole = matrix(share, torch.float64)
    single = Weights(whole).float()
    assert single.matrix.dtype == torch.float32 and torch.equal(single.matrix, whole.float())


def test_products_do_not_overwrite_what_they_are_given(share: float) -> None:
    whole = matrix(share, torch.float64)
    rows, some = torch.ones((2, 40), dtype=whole.dtype), torch.ones((2, 23), dtype=whole.dtype)
    weights = Weights(whole)
    first = weights.back(rows, some)
    weights.back(rows, 2 * some), weights.forth(rows)
    assert torch.equal(rows, torch.ones_like(rows)) and torch.equal(some, torch.ones_like(some))
    assert torch.equal(first, weights.back(rows, some))
