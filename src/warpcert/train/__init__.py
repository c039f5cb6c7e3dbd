"""Training: networks by name, and certified training by interval propagation."""

from warpcert.train.accuracy import Accuracy, measure_accuracy
from warpcert.train.architecture import ARCHITECTURES, build, count_relus
from warpcert.train.deck import Deck, load_deck
from warpcert.train.initialise import initialise
from warpcert.train.interval import Bundle, propagate, worst_logits
from warpcert.train.log import Entry
from warpcert.train.loop import Lesson, train
from warpcert.train.loss import Loss, robust_loss
from warpcert.train.prepare import prepare
from warpcert.train.recipe import Recipe
from warpcert.train.schedule import Schedule
from warpcert.train.surroundings import Ball, Surroundings
from warpcert.train.weights import load_weights, save_weights

__all__ = [
    "ARCHITECTURES",
    "Accuracy",
    "Ball",
    "Bundle",
    "Deck",
    "Entry",
    "Lesson",
    "Loss",
    "Recipe",
    "Schedule",
    "Surroundings",
    "build",
    "count_relus",
    "initialise",
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
