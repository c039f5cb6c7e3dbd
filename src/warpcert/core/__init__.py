"""The words: what every room of the package speaks of."""

from warpcert.core.box import Box
from warpcert.core.errors import Unsound, Unsupported
from warpcert.core.inputset import InputSet
from warpcert.core.interval import Interval

__all__ = ["Box", "InputSet", "Interval", "Unsound", "Unsupported"]
