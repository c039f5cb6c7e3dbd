"""`Tally`: how many images became what, at one place on a curve."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tally:
    """Verdicts on correctly classified images at one value (a delta, a gamma)."""

    at: float
    certified: int
    falsified: int
    unknown: int

    @property
    def correct(self) -> int:
        """All of them."""
        return self.certified + self.falsified + self.unknown
