"""Which neuron is decided next, and what is remembered of the others."""

from __future__ import annotations

import math

import pytest
import torch

from warpcert.bound.choice import LEAST, _growth
from warpcert.bound.experience import Experience


def growth(less: float, more: float) -> float:
    return float(_growth(torch.tensor([less]), torch.tensor([more])))


@pytest.mark.parametrize(("less", "more"), [(0.5, 0.5), (0.1, 0.9), (0.01, 1.0), (0.3, 0.31)])
def test_it_is_the_growth_of_a_tree_whose_decisions_gain_that(less: float, more: float) -> None:
    found = growth(less, more)
    assert math.exp(-found * less) + math.exp(-found * more) == pytest.approx(1, abs=1e-4)


def test_a_side_that_closes_at_once_makes_a_short_chain() -> None:
    """100 nodes one after the other against 2 to the power of 25."""
    assert growth(0.01, 1.0) < growth(0.04, 0.04)
    assert growth(0.01, 5.0) == growth(0.01, 1.0)  # more than the gap is no better
    assert growth(-1.0, 1.0) == growth(LEAST, 1.0)


def test_experience_is_the_mean_of_what_was_tried_for_a_margin() -> None:
    seen = Experience(2, 3, torch.device("cpu"))
    gains = torch.tensor([[[0.2, 0.4], [0.0, 1.0]], [[0.4, 0.2], [math.nan, 1.0]]])
    seen.learn(torch.tensor([1, 1]), torch.tensor([[0, 2], [0, 1]]), gains)
    found = seen.merit(torch.tensor([0, 1]), torch.tensor([[1.0], [1.0]]))
    assert found[0].tolist() == [0, 0, 0]  # another margin
    assert found[1, 0] == pytest.approx(0.09, rel=1e-4)
    assert found[1, 1] == 0  # what is not a number was not tried
    assert 0 < float(found[1, 2]) < 1e-6  # one side gains nothing


def test_no_more_counts_than_the_gap() -> None:
    seen = Experience(1, 1, torch.device("cpu"))
    seen.learn(torch.tensor([0]), torch.tensor([[0]]), torch.tensor([[[0.5, 4.0]]]))
    found = seen.merit(torch.tensor([0]), torch.tensor([[1.0]]))
    assert float(found) == pytest.approx(0.5, rel=1e-4)
