"""Consistency: verdicts must not contradict each other."""

from __future__ import annotations

from collections import defaultdict
from typing import final

from warpcert.core.errors import Unsound
from warpcert.core.verdict import Status
from warpcert.run.row import Row


@final
class Consistency:
    """Compares the verdicts of one task as they come.

    A threat with a smaller delta and a smaller gamma is a subset, so what is certified for the
    larger one cannot be falsified for the smaller one, or for itself. An image that is
    misclassified as it is can be certified for none.
    """

    def __init__(self) -> None:
        self._certified: defaultdict[int, list[Row]] = defaultdict(list)
        self._refuted: defaultdict[int, list[Row]] = defaultdict(list)

    def add(self, row: Row) -> None:
        """Take a verdict down; one that contradicts another is `Unsound`."""
        if row.status is Status.CERTIFIED:
            for other in self._refuted[row.index]:
                _compare(row, other)
            self._certified[row.index].append(row)
        elif row.status in (Status.FALSIFIED, Status.MISCLASSIFIED):
            for other in self._certified[row.index]:
                _compare(other, row)
            self._refuted[row.index].append(row)


def _compare(proved: Row, refuted: Row) -> None:
    """Raise if the set of the proof holds that of the refutation."""
    smaller = refuted.delta <= proved.delta and refuted.gamma <= proved.gamma
    if smaller or refuted.status is Status.MISCLASSIFIED:
        raise Unsound(
            f"{proved.image} is certified for delta {proved.delta:g}, gamma {proved.gamma:g} "
            f"(by {proved.method or 'nothing'}, margin {proved.margin:.6g}), but "
            f"{refuted.status.value} for delta {refuted.delta:g}, gamma {refuted.gamma:g} "
            f"(by {refuted.method or 'the network'}, margin {refuted.margin:.6g})"
        )
