"""What every InputSet promises.

A new input set's test is a class that inherits this one and says, in the fixture `case`, how the
set is made and what its exact minima are; see `tests/core/test_box.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor

from warpcert import Box, InputSet

DOUBLE = torch.float64
TIGHT = 1e-9
"""How far a bound may stay behind the exact minimum, in units of the row's sum of magnitudes."""

SEARCHED = 0.05
"""The same where the minimum is searched for: rows come close to what they could get, no more."""
SINGLE = 1e-6
"""Weights of a mean that is computed in float32 need not add up to one exactly."""

Enclosure = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Case:
    """One input set: how it is made, parameters to try it with, and its dense oracle.

    `parameters` holds batches of parameters, members or not, in float64. `lowest(rows)` encloses
    the minimum of <row, member> for every row; where the set is not `exact`, it need only be
    bounded from above, by some member.
    """

    made: InputSet
    parameters: list[Tensor]
    lowest: Callable[[Tensor], list[list[Enclosure]]]
    exact: bool = True


class InputSetContract:
    """The tests; every one asks for the fixture `case`."""

    @pytest.fixture
    def case(self) -> Case:
        raise NotImplementedError("an input set's test says how the set is made")

    @pytest.fixture
    def rows(self, case: Case) -> Tensor:
        """Rows that differ in sign and size, a sparse one among them."""
        shape = case.made.box.lower.shape
        rows = torch.randn((shape[0], 5, *shape[1:]), dtype=DOUBLE)
        rows[:, 1] = rows[:, 1].abs()
        rows[:, 2] *= torch.rand(shape) < 0.2
        rows[:, 3] *= 1e6
        return rows

    # Members

    def test_members_are_images_within_the_box(self, case: Case) -> None:
        box = case.made.box
        for v in case.parameters:
            member = case.made.realise(case.made.project(v))
            assert member.shape == box.lower.shape
            assert bool((member >= box.lower - 1e-15).all())
            assert bool((member <= box.upper + 1e-15).all())

    def test_projecting_twice_changes_nothing(self, case: Case) -> None:
        for v in case.parameters:
            once = case.made.project(v)
            assert once.shape == v.shape and once.dtype == v.dtype
            assert torch.equal(case.made.project(once), once)

    # Bounds

    def test_bounds_hold_for_members(self, case: Case, rows: Tensor) -> None:
        bounds = case.made.minimise(rows).bound
        size = rows.abs().sum((2, 3, 4))
        for v in case.parameters:
            member = case.made.realise(case.made.project(v))
            assert bool((bounds <= inner(rows, member) + 1e-13 * size).all())

    def test_bounds_are_the_minimum(self, case: Case, rows: Tensor) -> None:
        bounds = case.made.minimise(rows).bound
        assert bounds.shape == rows.shape[:2] and bounds.dtype == rows.dtype
        self.assert_bounds(case, rows, bounds, TIGHT)

    def test_bounds_of_float32_rows_are_rounded_down(self, case: Case, rows: Tensor) -> None:
        rows = rows.to(torch.float32)
        bounds = case.made.minimise(rows).bound
        assert bounds.dtype == torch.float32
        self.assert_bounds(case, rows, bounds, 2.0**-22)

    def assert_bounds(self, case: Case, rows: Tensor, bounds: Tensor, tight: float) -> None:
        """No tolerance above; below it, what the rounding costs."""
        sizes = rows.to(DOUBLE).abs().sum((2, 3, 4)).tolist()
        for k, enclosures in enumerate(case.lowest(rows)):
            for r, (low, high) in enumerate(enclosures):
                bound = Fraction(bounds[k, r].item())
                assert bound <= high, f"unsound: image {k}, row {r}"
                if case.exact:
                    assert low - bound <= Fraction(tight * sizes[k][r]), f"loose: row {r}"

    def test_no_looser_than_the_box(self, case: Case, rows: Tensor) -> None:
        size = rows.abs().sum((2, 3, 4))
        boxed = Box(case.made.box).minimise(rows).bound
        assert bool((case.made.minimise(rows).bound >= boxed - 1e-11 * size).all())

    def test_nothing_asked_is_nothing_answered(self, case: Case, rows: Tensor) -> None:
        assert case.made.minimise(0 * rows).bound.abs().max() == 0

    def test_twice_the_row_is_twice_the_bound(self, case: Case, rows: Tensor) -> None:
        torch.testing.assert_close(
            case.made.minimise(2 * rows).bound,
            2 * case.made.minimise(rows).bound,
            rtol=1e-11,
            atol=1e-11,
        )

    def test_the_sum_of_rows_has_at_least_the_sum_of_bounds(self, case: Case, rows: Tensor) -> None:
        others = rows.flip(1)
        size = (rows.abs() + others.abs()).sum((2, 3, 4))
        apart = case.made.minimise(rows).bound + case.made.minimise(others).bound
        tight = 1e-11 if case.exact else SEARCHED
        assert bool((case.made.minimise(rows + others).bound >= apart - tight * size).all())

    def test_rows_are_bounded_one_by_one(self, case: Case, rows: Tensor) -> None:
        together = case.made.minimise(rows).bound
        alone = torch.cat(
            [case.made.minimise(rows[:, [r]]).bound for r in range(rows.shape[1])], dim=1
        )
        size = rows.abs().sum((2, 3, 4))
        tight = 1e-13 if case.exact else SEARCHED
        assert bool(((together - alone).abs() <= 1e-13 + tight * size).all())

    # Gradients

    def test_the_gradient_is_where_the_minimum_is_taken(self, case: Case, rows: Tensor) -> None:
        asked = rows.clone().requires_grad_()
        bounds = case.made.minimise(asked).bound
        (grad,) = torch.autograd.grad(bounds.sum(), asked)
        size = rows.abs().sum((2, 3, 4))
        assert grad.shape == rows.shape and grad.dtype == rows.dtype
        # A mean of members has its pixels in the box, also where it is only nearly the minimiser.
        box = case.made.box
        assert bool((grad >= box.lower[:, None] - SINGLE).all())
        assert bool((grad <= box.upper[:, None] + SINGLE).all())
        if not case.exact:
            return
        assert bool(((rows * grad).sum((2, 3, 4)) - bounds).abs().le(TIGHT * size + 1e-12).all())
        # No row has a bound above its value there, so the point belongs to the set (or its hull).
        for r in range(rows.shape[1]):
            at_point = (rows * grad[:, [r]]).sum((2, 3, 4))
            assert bool((bounds <= at_point + TIGHT * size + 1e-12).all())

    def test_the_gradient_is_weighted(self, case: Case, rows: Tensor) -> None:
        asked = rows.clone().requires_grad_()
        weights = torch.linspace(-1, 2, rows.shape[0] * rows.shape[1], dtype=DOUBLE)
        weights = weights.view(rows.shape[:2])
        (plain,) = torch.autograd.grad(case.made.minimise(asked).bound.sum(), asked)
        (grad,) = torch.autograd.grad((weights * case.made.minimise(asked).bound).sum(), asked)
        torch.testing.assert_close(grad, weights[..., None, None, None] * plain)

    # Misuse

    @pytest.mark.usefixtures("unwatched")
    @pytest.mark.parametrize(
        ("spoil", "words"),
        [
            (lambda rows: rows.numpy(), "rows must be a torch tensor, got ndarray"),
            (lambda rows: rows.long(), "rows must be float32 or float64, got int64"),
            (lambda rows: rows[:, 0], "rows must have the shape"),
            (lambda rows: rows[..., :-1], "rows must have the shape"),
            (lambda rows: rows[:, :, :, :1], "rows must have the shape"),
            (lambda rows: torch.cat([rows, rows]), "rows must have the shape"),
            (lambda rows: rows[:, :0], "rows must not be empty"),
            (lambda rows: rows * torch.nan, "rows must be finite"),
            (lambda rows: rows + torch.inf, "rows must be finite"),
        ],
        ids=["numpy", "integer", "axis", "width", "height", "batch", "empty", "nan", "inf"],
    )
    def test_rows_that_do_not_fit_are_refused(
        self, case: Case, rows: Tensor, spoil: Callable[[Tensor], Any], words: str
    ) -> None:
        with pytest.raises(ValueError, match=words) as caught:
            case.made.minimise(spoil(rows))
        assert "\n" not in str(caught.value)


def inner(rows: Tensor, members: Tensor) -> Tensor:
    """<row, member> for every row: (B, R, C, H, W), (B, C, H, W) -> (B, R)."""
    return (rows * members[:, None]).sum((2, 3, 4))
