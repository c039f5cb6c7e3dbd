"""Propagation: sound bounds of a network's values over an input set."""

from warpcert.bound.alpha import Alpha
from warpcert.bound.ascent import Ascent
from warpcert.bound.beta import Beta
from warpcert.bound.bounder import Bounder
from warpcert.bound.bounds import Bounds
from warpcert.bound.careful import careful
from warpcert.bound.choice import Choice
from warpcert.bound.deeppoly import DeepPoly
from warpcert.bound.experience import Experience
from warpcert.bound.goal import Goal
from warpcert.bound.ground import BoxGround, Ground, SetGround, ground
from warpcert.bound.improve import improve
from warpcert.bound.inner import propagate, straight_ends, tighten
from warpcert.bound.interval import IntervalPropagation
from warpcert.bound.margins import margin_rows
from warpcert.bound.nodes import Nodes
from warpcert.bound.reduced import Reduced, reduce

__all__ = [
    "Alpha",
    "Ascent",
    "Beta",
    "Bounder",
    "Bounds",
    "BoxGround",
    "Choice",
    "DeepPoly",
    "Experience",
    "Goal",
    "Ground",
    "IntervalPropagation",
    "Nodes",
    "Reduced",
    "SetGround",
    "careful",
    "ground",
    "improve",
    "margin_rows",
    "propagate",
    "reduce",
    "straight_ends",
    "tighten",
]
