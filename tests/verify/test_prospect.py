"""Which nodes are searched for longer: those that it has closed before, and some others."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from warpcert.verify.branch.prospect import FEW, SHARE, Prospect, _kind, gained

CPU = torch.device("cpu")


NEVER = math.inf
"""What is usual when nothing wins as much."""


def gaps(*values: float) -> Tensor:
    return -torch.tensor(values, dtype=torch.float64)


def closing(bounds: Tensor, closed: Tensor) -> Tensor:
    """Bounds after a search that closes some, and wins nothing of the others."""
    return torch.where(closed, 1.0, bounds)


def taught(bounds: Tensor, before: Tensor, after: Tensor, least: float = 0.3) -> Prospect:
    """One that has seen the same often."""
    prospect = Prospect(least, CPU)
    for _ in range(40):
        prospect.learn(bounds, before, after)
    return prospect


def test_at_first_all_that_are_open_are_tried() -> None:
    bounds = torch.tensor([-1.0, 0.5, -1e-9, -math.inf, math.nan, 0.0], dtype=torch.float64)
    worth = Prospect(0.3, CPU).worth(bounds, bounds, NEVER)
    assert worth.tolist() == [True, False, True, True, True, True]


@pytest.mark.parametrize(("least", "again"), [(0.2, True), (0.3, False)])
def test_what_has_closed_often_enough_is_made_again(least: float, again: bool) -> None:
    bounds, before = gaps(*[0.3] * 4), gaps(*[0.5] * 4)
    closed = torch.tensor([True, False, False, False])  # a quarter
    prospect = taught(bounds, before, closing(bounds, closed), least)
    assert prospect.worth(bounds, before, NEVER).tolist() == [again] * 4


@pytest.mark.parametrize(("usual", "again"), [(0.04, True), (0.06, False), (math.inf, False)])
def test_what_wins_more_than_deciding_neurons_is_made_again(usual: float, again: bool) -> None:
    """Though it closes nothing."""
    bounds, before = gaps(*[0.3] * 4), gaps(*[0.5] * 4)
    prospect = taught(bounds, before, bounds + torch.tensor([0.0, 0.1, 0.05, 0.05]))
    assert prospect.worth(bounds, before, usual).tolist() == [again] * 4


@pytest.mark.parametrize(("gain", "again"), [(0.0, False), (0.004, False), (0.007, True)])
def test_where_deciding_neurons_wins_nothing_a_search_must_win_something(
    gain: float, again: bool
) -> None:
    """Two hundredths of a gap, or of the power of two below it, which is a quarter."""
    bounds = gaps(*[0.3] * 4)
    prospect = taught(bounds, bounds, bounds + gain)
    assert prospect.worth(bounds, bounds, 0.0).tolist() == [again] * 4


def test_more_than_a_gap_is_not_won() -> None:
    before = torch.tensor([-1.0, -1.0, -1.0, -math.inf, math.nan], dtype=torch.float64)
    after = torch.tensor([-0.25, 7.0, math.nan, -1.0, -1.0], dtype=torch.float64)
    assert gained(before, after).tolist() == [0.75, 1.0, 0.0, 0.0, 0.0]


def test_gaps_and_stalled_nodes_are_told_apart() -> None:
    far, near = gaps(*[0.9] * 8), gaps(*[0.01] * 8)
    both, closed = torch.cat([far, near]), torch.arange(16) >= 8
    prospect = taught(both, both - 1, closing(both, closed))
    assert not prospect.worth(far, far - 1, NEVER).any()
    assert prospect.worth(near, near - 1, NEVER).all()
    assert prospect.worth(far, far, NEVER).all()  # those that have won nothing were never tried
    prospect = taught(near, near, near)
    assert not prospect.worth(near, near, NEVER).any()
    assert prospect.worth(near, near - 1, NEVER).all()


def test_kinds_are_powers_of_two_and_hold_whatever_comes() -> None:
    values = gaps(0.5, 0.74, 0.99, 1.01, 1e-300, 1e300, math.inf, math.nan, -1.0, 0.0)
    kinds = _kind(values, values - 1e-12)
    assert kinds[0] == kinds[1] == kinds[2] == kinds[3] - 2
    assert int(kinds.min()) >= 0 and int(kinds.max()) < len(Prospect(0.3, CPU).tries)


@pytest.mark.parametrize("count", [64, 2 * FEW])
def test_some_are_tried_whatever_came_of_it(count: int) -> None:
    """About one of so many in the long run, and not always the same."""
    bounds = gaps(*[0.3] * count)
    prospect = taught(bounds, bounds - 1, bounds)
    tried = torch.stack([prospect.worth(bounds, bounds - 1, NEVER) for _ in range(2 * SHARE)])
    assert int(tried.sum()) == 2 * count
    assert int(tried.any(0).sum()) == (count if count >= FEW else count // 2)


def test_the_last_searches_count_most() -> None:
    bounds, before = gaps(*[0.3] * 8), gaps(*[0.5] * 8)
    prospect = taught(bounds, before, bounds)
    for _ in range(3):
        prospect.learn(bounds, before, torch.ones_like(bounds))
    assert prospect.worth(bounds, before, NEVER).all()
    prospect = taught(bounds, before, bounds)
    for _ in range(8):
        prospect.learn(bounds, before, bounds + 0.1)
    assert prospect.worth(bounds, before, 0.08).all()
