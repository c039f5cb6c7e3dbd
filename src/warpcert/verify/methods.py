"""Methods by name."""

from __future__ import annotations

from warpcert.bound import Alpha, Bounder, DeepPoly, IntervalPropagation

METHODS: dict[str, Bounder] = {
    "interval": IntervalPropagation(),
    "deeppoly": DeepPoly(),
    "alpha": Alpha(),
}
"""Cheapest first; each is at least as tight as the one before."""


def bounder(method: str, intersect: bool = True) -> Bounder:
    """The bounder of that name; without ``intersect``, as in the paper (DeepPoly only)."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if intersect:
        return METHODS[method]
    if method != "deeppoly":
        raise ValueError(f"intersect=False is for the method 'deeppoly', got {method!r}")
    return DeepPoly(intersect=False)
