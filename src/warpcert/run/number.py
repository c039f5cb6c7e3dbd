"""Numbers in JSON, which has no infinity."""

from __future__ import annotations

import math

JsonNumber = int | float | str | None


def write_number(value: float) -> JsonNumber:
    """The number; infinity is the string "inf", what is unknown (NaN, -inf) is null."""
    if value == math.inf:
        return "inf"
    return value if math.isfinite(value) else None


def read_number(value: object) -> float:
    """The number that `write_number` wrote; null is -inf."""
    if value is None:
        return -math.inf
    if value == "inf":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is no number")
    return float(value)
