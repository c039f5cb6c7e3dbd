"""prepare: a network ready to be trained."""

from __future__ import annotations

import torch
from torch import nn

from warpcert.train.architecture import build
from warpcert.train.batchnorm import BatchNorm
from warpcert.train.deck import Deck
from warpcert.train.initialise import initialise
from warpcert.train.normalise import Normalise


def prepare(name: str, training: Deck, classes: int, seed: int) -> nn.Sequential:
    """A network of this architecture for these images, its weights drawn from the seed.

    Normalisation is fitted to the training images. Networks with batch normalisation get weights
    that keep boxes small; in the others those would let the signal vanish, and torch's stay.
    """
    _, channels, height, width = training.images.shape
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = build(name, (channels, height, width), classes)
    if any(isinstance(part, BatchNorm) for part in module.modules()):
        initialise(module, torch.Generator().manual_seed(seed))
    first = module[0]
    assert isinstance(first, Normalise)
    first.fit(training.take(slice(0, 10_000)).floats().cpu())
    return module
