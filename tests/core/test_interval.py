"""Interval: two ends, never crossed."""

from __future__ import annotations

import math

import pytest
import torch

from warpcert import Interval, Unsound


def test_width_and_membership() -> None:
    box = Interval(torch.tensor([0.0, 0.5]), torch.tensor([1.0, 0.5]))
    assert box.width.tolist() == [1.0, 0.0]
    assert box.contains(torch.tensor([0.0, 0.5])).tolist() == [True, True]
    assert box.contains(torch.tensor([1.0, 0.6])).tolist() == [True, False]
    assert box.contains(torch.tensor([-0.1, math.nan])).tolist() == [False, False]


@pytest.mark.parametrize(
    ("lower", "upper"),
    [([0.0, 1.0], [1.0, 0.0]), ([math.nan, 0.0], [1.0, 1.0]), ([0.0, 0.0], [1.0, math.nan])],
)
def test_crossed_ends_are_unsound(lower: list[float], upper: list[float]) -> None:
    with pytest.raises(Unsound, match="lower end is above its upper end, or NaN"):
        Interval(torch.tensor(lower), torch.tensor(upper))


def test_ends_of_two_shapes_are_unsound() -> None:
    with pytest.raises(Unsound, match="shapes"):
        Interval(torch.zeros(2), torch.ones(3))
    with pytest.raises(Unsound, match="shapes"):
        Interval(torch.zeros(1), torch.ones(3))


def test_infinite_ends_are_fine() -> None:
    box = Interval(torch.tensor([-math.inf]), torch.tensor([math.inf]))
    assert bool(box.contains(torch.tensor([1e30])).all())
    assert not bool(box.contains(torch.tensor([math.nan])).any())


def test_intervals_are_frozen() -> None:
    box = Interval(torch.zeros(1), torch.ones(1))
    with pytest.raises(AttributeError):
        box.lower = torch.ones(1)  # type: ignore[misc]


def test_nobody_mistakes_an_unsound_bound_for_misuse() -> None:
    assert issubclass(Unsound, AssertionError)
    assert not issubclass(Unsound, ValueError)
