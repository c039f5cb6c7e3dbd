"""Substitution: rows written in terms of the input, and minimised there."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from warpcert.bound.backward import backward
from warpcert.bound.known import Known
from warpcert.bound.stage import Found, Stage
from warpcert.core.inputset import InputSet
from warpcert.core.shapes import Float

WORKING_ARRAYS = 6
"""Arrays of the largest layer's size that back-substitution needs for one row, about."""


@dataclass(frozen=True)
class Substitution(Stage):
    """Back-substitution with the bands known; ``steps`` are spent on the input set's duals."""

    intersect: bool = True
    steps: int | None = None

    def __call__(
        self,
        known: Known,
        inputs: InputSet,
        rows: Float[Tensor, "B R ..."],
        value: int,
        start: Found | None = None,
    ) -> Found:
        form = backward(known, rows, value, intersect=self.intersect)
        least, duals = inputs.minimise(form.rows, start.duals if start else None, self.steps)
        return Found(form.bound(least), {}, duals)

    def row_bytes(self, known: Known, value: int) -> int:
        return 8 * WORKING_ARRAYS * largest(known, value)


def largest(known: Known, value: int) -> int:
    """Entries of the largest value up to some value."""
    return max(x.lower[0].numel() for x in known.values[: value + 1])
