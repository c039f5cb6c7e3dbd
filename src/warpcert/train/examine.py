"""examine: what a finished network is worth, proved."""

from __future__ import annotations

import torch

from warpcert.bound import IntervalPropagation, margin_rows
from warpcert.core.box import Box
from warpcert.core.memory import chunk_size
from warpcert.data import Counts
from warpcert.net import Network
from warpcert.train.deck import Deck
from warpcert.train.surroundings import Surroundings

_NEURON_BYTES = 320  # float64, with the patches of convolutions and what else lives at a time


def examine(
    network: Network, deck: Deck, surroundings: Surroundings, batch: int | None = None
) -> Counts:
    """Right images of a deck, and those that interval propagation proves, both in float64.

    Unlike `measure_accuracy` this is a proof for every image counted: bounds are widened by their
    rounding, and those of the pixels too.
    """
    if batch is None:
        batch = min(1000, chunk_size(_NEURON_BYTES * network.neurons, network.device))
    correct = certified = 0
    for start in range(0, len(deck), batch):
        part = deck.take(slice(start, start + batch))
        images = part.floats()
        right = part.take(network(images.to(torch.float64)).argmax(1) == part.labels)
        correct += len(right)
        if len(right):
            box = Box(surroundings.interval(right.floats()))
            rows = margin_rows(right.labels, network.classes)
            margins = IntervalPropagation()(network, box, rows).margins
            certified += int((margins > 0).all(1).sum())
    return Counts(certified, correct, len(deck))
