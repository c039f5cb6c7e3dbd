"""Training: networks by name, and losses that certification thrives on."""

from warpcert.train.accuracy import measure_accuracy
from warpcert.train.architecture import ARCHITECTURES, build, count_relus
from warpcert.train.attack import Attack
from warpcert.train.crown import linear_reach
from warpcert.train.deck import Deck, load_deck
from warpcert.train.examine import examine
from warpcert.train.initialise import initialise
from warpcert.train.interval import Bundle, propagate, worst_logits
from warpcert.train.log import Entry
from warpcert.train.loop import Lesson, train
from warpcert.train.loss import Loss, robust_loss
from warpcert.train.objective import OBJECTIVES, Batch, Moment, Objective
from warpcert.train.prepare import prepare
from warpcert.train.recipe import Recipe
from warpcert.train.schedule import Schedule
from warpcert.train.surroundings import Ball, Bending, BentGrey, Surroundings
from warpcert.train.trace import Trace
from warpcert.train.weights import load_weights, save_weights

__all__ = [
    "ARCHITECTURES",
    "OBJECTIVES",
    "Attack",
    "Ball",
    "Batch",
    "Bending",
    "BentGrey",
    "Bundle",
    "Deck",
    "Entry",
    "Lesson",
    "Loss",
    "Moment",
    "Objective",
    "Recipe",
    "Schedule",
    "Surroundings",
    "Trace",
    "build",
    "count_relus",
    "examine",
    "initialise",
    "linear_reach",
    "load_deck",
    "load_weights",
    "measure_accuracy",
    "prepare",
    "propagate",
    "robust_loss",
    "save_weights",
    "train",
    "worst_logits",
]
