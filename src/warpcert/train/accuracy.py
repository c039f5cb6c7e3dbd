"""measure_accuracy: how many images a network gets right, and how many intervals prove."""

from __future__ import annotations

import torch
from torch import nn

from warpcert.data import Counts
from warpcert.train.deck import Deck
from warpcert.train.loss import robust_loss
from warpcert.train.surroundings import Surroundings


def measure_accuracy(
    module: nn.Sequential, deck: Deck, surroundings: Surroundings, batch: int = 1000
) -> Counts:
    """Right and interval-certified images of a deck, in the type of the module's weights.

    Bounds are not widened by their rounding: this measures a network, it is no verdict.
    """
    if not len(deck):
        raise ValueError("there are no images to measure the accuracy with")
    was_training = module.training
    module.eval()
    dtype = next(module.parameters()).dtype
    correct = torch.zeros((), dtype=torch.int64, device=deck.labels.device)
    certified = torch.zeros_like(correct)
    with torch.no_grad():
        for start in range(0, len(deck), batch):
            part = deck.take(slice(start, start + batch))
            images = part.floats(dtype)
            loss = robust_loss(module, images, surroundings(images, 1.0), part.labels, 0.5)
            correct += loss.correct.sum()
            certified += (loss.correct & loss.certified).sum()
    module.train(was_training)
    return Counts(int(certified), int(correct), len(deck))
