"""Box: the contract of input sets, and answers by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from torch import Tensor

from tests.contract.input_set import Case, Enclosure, InputSetContract
from warpcert import Box, InputSet, Interval

DOUBLE = torch.float64


def exactly(box: Interval, rows: Tensor) -> list[list[Enclosure]]:
    """Each term of the sum is least at one end; all in rational arithmetic."""
    answers = []
    for low, high, some in zip(box.lower, box.upper, rows, strict=True):
        ends = [
            (Fraction(a), Fraction(b))
            for a, b in zip(low.flatten().tolist(), high.flatten().tolist(), strict=True)
        ]
        sums = [
            sum(min(Fraction(w) * a, Fraction(w) * b) for w, (a, b) in zip(row, ends, strict=True))
            for row in some.flatten(1).tolist()
        ]
        answers.append([(Fraction(x), Fraction(x)) for x in sums])
    return answers


class TestBox(InputSetContract):
    @pytest.fixture(params=["wide", "thin", "mixed", "points"])
    def case(self, request: pytest.FixtureRequest) -> Case:
        centre, radius = torch.rand((2, 2, 3, 4, 5), dtype=DOUBLE)
        radius = {
            "wide": radius,
            "thin": 1e-9 * radius,
            "mixed": radius * (torch.rand_like(radius) < 0.5),
            "points": 0 * radius,
        }[request.param]
        interval = Interval(centre - radius, centre + radius)
        parameters = [
            interval.lower,
            interval.upper,
            centre,
            *torch.randn((4, *centre.shape), dtype=DOUBLE),
        ]
        return Case(Box(interval), parameters, lambda rows: exactly(interval, rows))


def test_an_input_set_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        InputSet()  # type: ignore[abstract]


def small() -> Box:
    lower = torch.tensor([[[[0.0, 0.25], [0.5, 0.0]]]], dtype=DOUBLE)
    upper = torch.tensor([[[[1.0, 0.75], [0.5, 0.5]]]], dtype=DOUBLE)
    return Box(Interval(lower, upper))


def test_a_minimum_by_hand() -> None:
    rows = torch.tensor([[[[[1.0, -2.0], [4.0, 0.0]]]]], dtype=DOUBLE)
    bound = small().minimise(rows).bound.item()
    assert bound <= 0.0 - 1.5 + 2.0
    assert bound == pytest.approx(0.5, abs=1e-13)


def test_projection_by_hand() -> None:
    box = small()
    moved = box.project(torch.full((1, 1, 2, 2), 0.6, dtype=DOUBLE))
    assert moved.flatten().tolist() == [0.6, 0.6, 0.5, 0.5]
    assert torch.equal(box.realise(moved), moved)


def test_the_box_of_a_box_is_itself() -> None:
    box = small()
    assert box.box is box.interval


def test_float32_boxes_are_exact_numbers() -> None:
    interval = Interval(torch.full((1, 1, 1, 1), 0.1), torch.full((1, 1, 1, 1), 0.3))
    rows = torch.ones((1, 1, 1, 1, 1), dtype=DOUBLE)
    bound = Box(interval).minimise(rows).bound.item()
    assert bound <= float(interval.lower.to(DOUBLE))
    assert bound == pytest.approx(0.10000000149011612, abs=1e-15)


def test_a_bound_that_is_no_number_is_minus_infinity() -> None:
    # The rows are finite, their products are not.
    interval = Interval(torch.full((1, 1, 1, 2), -2.0), torch.full((1, 1, 1, 2), 2.0))
    rows = torch.full((1, 1, 1, 1, 2), 1e308, dtype=DOUBLE)
    assert Box(interval).minimise(rows).bound.item() == -torch.inf
