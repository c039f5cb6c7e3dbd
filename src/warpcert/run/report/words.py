"""How numbers are written for people."""

from __future__ import annotations

import math

DASH = "–"


def write_number(value: float) -> str:
    """A number as it was given, with the sign for infinity."""
    return "∞" if value == math.inf else f"{value:.12g}"


def write_plainly(value: float) -> str:
    """A number as it was given, in letters that every keyboard has."""
    return f"{value:.12g}"


def write_seconds(value: float) -> str:
    """Seconds, to three decimals, or to two digits when that would be nothing."""
    return f"{value:.2g}" if 0 < value < 0.001 else f"{value:.3f}"


def write_share(value: float | None) -> str:
    """A share in per cent, or a dash for none."""
    return DASH if value is None else f"{100 * value:.1f} %"
