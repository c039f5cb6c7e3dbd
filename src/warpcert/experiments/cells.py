"""Cell: what became of the images under one threat, counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import final

from warpcert.core.verdict import Status
from warpcert.run import Row

Place = tuple[float, float]
"""Delta and gamma."""


@final
@dataclass(frozen=True)
class Cell:
    """Images by verdict; ``seconds`` is the mean over those that were decided, ``each`` over all
    that the network gets right, and ``devices`` is where.

    ``margin`` is the mean proved margin of the images that the network gets right, where all of
    them have one.
    """

    certified: int = 0
    falsified: int = 0
    undecided: int = 0
    misclassified: int = 0
    seconds: float | None = None
    each: float | None = None
    margin: float | None = None
    devices: frozenset[str] = frozenset()

    @property
    def correct(self) -> int:
        """The images that the network classifies rightly as they are, which are asked about."""
        return self.certified + self.falsified + self.undecided

    @property
    def rate(self) -> float | None:
        """Per cent of the correct images that are certified; None where there is none."""
        return self._share(self.certified)

    @property
    def most(self) -> float | None:
        """Per cent that any verifier could certify: those for which no field was found."""
        return self._share(self.certified + self.undecided)

    def _share(self, count: int) -> float | None:
        return 100 * count / self.correct if self.correct else None


def count(rows: Iterable[Row]) -> dict[Place, Cell]:
    """The cells of a run, by delta and gamma."""
    groups: dict[Place, list[Row]] = {}
    for row in rows:
        groups.setdefault((row.delta, row.gamma), []).append(row)
    return {place: _cell(group) for place, group in groups.items()}


def _cell(rows: list[Row]) -> Cell:
    found = Counter(row.status for row in rows)
    right = [row for row in rows if row.status is not Status.MISCLASSIFIED]
    decided = [row.seconds for row in right if row.status is not Status.UNKNOWN]
    margins = [row.margin for row in right if row.status is not Status.FALSIFIED]
    return Cell(
        found[Status.CERTIFIED],
        found[Status.FALSIFIED],
        found[Status.UNKNOWN],
        found[Status.MISCLASSIFIED],
        fmean(decided) if decided else None,
        fmean(row.seconds for row in right) if right else None,
        fmean(margins) if margins and min(margins) > -math.inf else None,
        frozenset(row.device for row in right),
    )
