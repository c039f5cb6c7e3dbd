"""The words: what every room of the package speaks of."""

from warpcert.core.box import Box
from warpcert.core.errors import Unsound, Unsupported
from warpcert.core.inputset import InputSet, Minimum
from warpcert.core.interval import Interval
from warpcert.core.polytope import Polytope
from warpcert.core.verdict import Status, Verdict

__all__ = [
    "Box",
    "InputSet",
    "Interval",
    "Minimum",
    "Polytope",
    "Status",
    "Unsound",
    "Unsupported",
    "Verdict",
]
