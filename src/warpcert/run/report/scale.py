"""`Scale`: from values to places on a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """The straight map that takes `low` to `start` and `high` to `end`."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def around(cls, values: Sequence[float], start: float, end: float) -> Scale:
        """A scale from the least to the largest value; a single one is put in the middle."""
        low, high = min(values), max(values)
        return cls(low, high, start, end) if low < high else cls(low - 1, low + 1, start, end)

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def apart(self, values: Sequence[float], gap: float) -> list[float]:
        """Of growing values, those to be written: `gap` apart, the first one among them."""
        kept: list[float] = []
        for value in values:
            if not kept or self(value) - self(kept[-1]) >= gap:
                kept.append(value)
        return kept
