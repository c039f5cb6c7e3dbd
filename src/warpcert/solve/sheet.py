"""Sheet: a program's variables and rows while they are being written down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpcert.core import rounding
from warpcert.core.polytope import Floats, Ints, Polytope, Rows

Term = tuple[Ints, Ints, Floats]
"""Entries of new rows: their numbers from 0, columns, and values."""


class Sheet:
    """Columns with their ends, and rows, added in any order; it begins with a polytope's."""

    def __init__(self, polytope: Polytope) -> None:
        self._lower, self._upper = [polytope.lower], [polytope.upper]
        self._integral = [np.zeros(len(polytope.lower), dtype=np.bool_)]
        rows = polytope.rows
        self._terms: list[Term] = [(rows.numbers, rows.columns, rows.values)]
        self._ends: list[tuple[Floats, Floats]] = [(rows.lower, rows.upper)]
        self._count, self._width = len(rows), len(polytope.lower)

    def columns(self, lower: Floats, upper: Floats, integral: bool = False) -> Ints:
        """Add variables between two arrays (n,), and return their numbers."""
        first, self._width = self._width, self._width + len(lower)
        self._lower.append(lower)
        self._upper.append(upper)
        self._integral.append(np.full(len(lower), integral))
        return np.arange(first, self._width)

    def rows(self, terms: Sequence[Term], lower: Floats, upper: Floats) -> None:
        """Add rows lower <= sum of terms <= upper; a column stands in a row once.

        Ends without a number say nothing: the row is then left open there.
        """
        for numbers, columns, values in terms:
            self._terms.append((numbers + self._count, columns, values))
        self._ends.append((_or(lower, -np.inf), _or(upper, np.inf)))
        self._count += len(lower)

    def merged(
        self, numbers: Ints, columns: Ints, values: Floats, count: int
    ) -> tuple[Term, Floats]:
        """Entries of rows 0 to ``count`` with those of the same column added up, and a slack (n,).

        The slack is what rounding in these sums may change of a row's value: `summation` of the
        entries added up, times the variable's magnitude.
        """
        width = self._width
        keys, place, times = np.unique(
            numbers * width + columns, return_inverse=True, return_counts=True
        )
        sums, slack = np.zeros(len(keys)), np.zeros(count)
        np.add.at(sums, place, values)
        rows, where = keys // width, keys % width
        often = times > 1
        if often.any():
            size = np.bincount(place, np.abs(values), len(keys)) * self.magnitude(where)
            lost = rounding.summation(int(times.max())) * size
            np.add.at(slack, rows[often], lost[often])
        return (rows, where, sums), slack

    def finished(self) -> tuple[Floats, Floats, Rows, np.ndarray]:
        """Lower and upper ends of all columns, the rows, and which columns are integers."""
        numbers, columns, values = (np.concatenate(part) for part in zip(*self._terms, strict=True))
        lower, upper = (np.concatenate(part) for part in zip(*self._ends, strict=True))
        present = values != 0
        numbers, columns, values = numbers[present], columns[present], values[present]
        order = np.lexsort((columns, numbers))
        starts = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=self._count))])
        rows = Rows(starts.astype(np.int64), columns[order], values[order], lower, upper)
        return (
            np.concatenate(self._lower),
            np.concatenate(self._upper),
            rows,
            np.concatenate(self._integral),
        )

    def magnitude(self, columns: Ints) -> Floats:
        """The largest |z| of some variables."""
        lower, upper = np.concatenate(self._lower), np.concatenate(self._upper)
        return np.maximum(np.abs(lower[columns]), np.abs(upper[columns]))


def _or(end: Floats, otherwise: float) -> Floats:
    return np.where(np.isnan(end), otherwise, end)
