"""Propagation: sound bounds of a network's values over an input set."""

from warpcert.bound.alpha import Alpha
from warpcert.bound.ascent import Ascent
from warpcert.bound.bounder import Bounder
from warpcert.bound.bounds import Bounds
from warpcert.bound.deeppoly import DeepPoly
from warpcert.bound.interval import IntervalPropagation
from warpcert.bound.margins import margin_rows

__all__ = ["Alpha", "Ascent", "Bounder", "Bounds", "DeepPoly", "IntervalPropagation", "margin_rows"]
