"""Small images and lessons for the tests of training."""

from __future__ import annotations

import pytest
import torch

from warpcert.train import Ball, Deck, Lesson


def make_deck() -> Deck:
    """Sixty 28 x 28 images of three kinds, a bright bar in one of three places, and noise."""
    labels = torch.arange(60) % 3
    images = torch.randint(0, 60, (60, 1, 28, 28), dtype=torch.uint8)
    for image, label in zip(images, labels, strict=True):
        image[:, 8 * int(label) : 8 * int(label) + 8] += 180
    return Deck(images, labels)


@pytest.fixture
def deck() -> Deck:
    return make_deck()


@pytest.fixture
def lesson(deck: Deck) -> Lesson:
    return Lesson(deck.take(slice(0, 48)), deck.take(slice(48, None)), Ball(0.05))
