"""A threat on the command line: its options, and how it is written."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from warpcert.cli.refusal import Refusal

if TYPE_CHECKING:
    from warpcert.flow import Threat


class Norm(StrEnum):
    """The norms that a displacement can be measured in."""

    ONE = "1"
    TWO = "2"
    INF = "inf"


class Border(StrEnum):
    """What lies beyond the image."""

    CLAMP = "clamp"
    INSIDE = "inside"


NormOption = Annotated[
    Norm, typer.Option("--norm", case_sensitive=False, help="Norm of a displacement.")
]
DeltaOption = Annotated[
    str, typer.Option("--delta", metavar="NUMBER", help="Longest displacement, in pixels.")
]
GammaOption = Annotated[
    str, typer.Option("--gamma", metavar="NUMBER", help="Largest difference between neighbours.")
]
BorderOption = Annotated[
    Border, typer.Option("--border", help="Outside the image: the edge's values, or forbidden.")
]


def make_threat(norm: Norm, delta: str, gamma: str, border: Border) -> Threat:
    """The threat that the options name."""
    numbers = _number("--delta", delta), _number("--gamma", gamma)
    from warpcert.flow import Threat

    try:
        return Threat(norm.value, *numbers, border.value)
    except ValueError as error:  # its message begins with the argument's name
        raise Refusal(f"--{error}") from None


def write_threat(threat: Threat) -> str:
    """The threat as plain text, such as "T2, delta 0.5, gamma inf"."""
    border = "" if threat.border == "clamp" else f", border {threat.border}"
    return f"T{threat.norm:g}, delta {threat.delta:g}, gamma {threat.gamma:g}{border}"


def threat_json(threat: Threat) -> dict[str, int | float | str]:
    """The threat as JSON, where infinity is the string "inf"."""
    return {
        "norm": _json_number(float(threat.norm)),
        "delta": threat.delta,
        "gamma": _json_number(threat.gamma),
        "border": threat.border,
    }


def _number(option: str, text: str) -> float:
    """The number that a text names; typer's own words for a wrong one change with its version."""
    try:
        return float(text)
    except ValueError:
        raise Refusal(f"{option} must be a number >= 0, got {text!r}") from None


def _json_number(value: float) -> int | float | str:
    """The number, as a whole one where it is, or "inf"."""
    if value == math.inf:
        return "inf"
    return int(value) if value.is_integer() else value
