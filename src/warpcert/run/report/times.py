"""`time_methods`: how long each method took for an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from warpcert.run.report.finding import Finding


@dataclass(frozen=True)
class Times:
    """The seconds of the images that a method had the last word on."""

    method: str
    seconds: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Their mean."""
        return fmean(self.seconds)

    @property
    def median(self) -> float:
        """Their median."""
        return median(self.seconds)


def time_methods(rows: Sequence[Finding]) -> list[Times]:
    """The times of each method, the fastest first; an image that needed none is not counted."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        if row.method:
            groups.setdefault(row.method, []).append(row.seconds)
    times = [Times(method, tuple(seconds)) for method, seconds in groups.items()]
    return sorted(times, key=lambda x: (x.median, x.method))
