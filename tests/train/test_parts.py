"""The small parts: surroundings, loss, augmentation, first weights, decks."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from warpcert.data import Counts
from warpcert.train import (
    Ball,
    Deck,
    build,
    initialise,
    measure_accuracy,
    prepare,
    robust_loss,
)
from warpcert.train.augment import MARGIN, augment, draw_shifts
from warpcert.train.job import split
from warpcert.train.normalise import Normalise
from warpcert.train.residual import Residual


def test_a_ball_is_cut_to_the_range_of_images():
    lower, upper = Ball(0.5)(torch.tensor([0.0, 0.25, 1.0]).reshape(1, 1, 1, 3), 0.5)
    assert lower.flatten().tolist() == [0.0, 0.0, 0.75]
    assert upper.flatten().tolist() == [0.25, 0.5, 1.0]
    with pytest.raises(ValueError, match="between 0 and 1, got 2"):
        Ball(2.0)


def test_loss_mixes_clean_and_worst(deck):
    module = build("ConvSmall", (1, 28, 28), 3)
    images = deck.floats()[:6]
    box, point = Ball(0.1)(images, 1.0), (images, images)
    labels = deck.labels[:6]
    clean = nn.functional.cross_entropy(module(images), labels)
    torch.testing.assert_close(robust_loss(module, images, box, labels, 1.0).total, clean)
    torch.testing.assert_close(robust_loss(module, images, point, labels, 0.0).total, clean)
    worst = robust_loss(module, images, box, labels, 0.0).total
    assert worst > clean
    mixed = robust_loss(module, images, box, labels, 0.25).total
    torch.testing.assert_close(mixed, 0.25 * clean + 0.75 * worst)


def test_certified_is_right_for_all_of_the_box(deck):
    module = build("ConvSmall", (1, 28, 28), 3)
    images = deck.floats()
    with torch.no_grad():
        labels = module(images).argmax(1)  # every image is right
        point = robust_loss(module, images, (images, images), labels, 0.5)
        assert point.correct.all() and point.certified.all()
        wide = robust_loss(module, images, Ball(0.5)(images, 1.0), labels, 0.5)
        assert wide.correct.all() and not wide.certified.any()


def test_accuracy_counts_all_images_in_parts(deck):
    module = prepare("ConvSmall", deck, 3, seed=0)
    whole = measure_accuracy(module, deck, Ball(0.0))
    assert whole == measure_accuracy(module, deck, Ball(0.0), batch=7)
    right = (module.eval()(deck.floats()).argmax(1) == deck.labels).double().mean()
    assert whole.correct == whole.certified == round(60 * float(right)) and whole.all == 60
    with pytest.raises(ValueError, match="no images"):
        measure_accuracy(module, deck.take(slice(0, 0)), Ball(0.0))


def test_augmented_images_are_parts_of_the_framed_ones():
    images = torch.randint(1, 256, (20, 3, 6, 5), dtype=torch.uint8)
    framed = nn.functional.pad(images, (MARGIN,) * 4)
    found = augment(images, draw_shifts(20, torch.Generator().manual_seed(1)))
    assert found.shape == images.shape
    kinds = set()
    for image, frame in zip(found, framed, strict=True):
        kinds |= {
            mirrored
            for mirrored in (False, True)
            for i in range(2 * MARGIN + 1)
            for j in range(2 * MARGIN + 1)
            if frame[:, i : i + 6, j : j + 5].flip(-1 if mirrored else ()).equal(image)
        }
    assert kinds == {False, True}


def test_first_weights_keep_the_radius():
    layer = nn.Linear(4000, 500)
    initialise(layer, torch.Generator().manual_seed(0))
    assert float(layer.weight.detach().abs().sum(1).mean()) == pytest.approx(2, rel=0.01)
    assert not layer.bias.any()


def test_residual_blocks_begin_as_their_short_cut():
    block = Residual(4, 4, stride=1)
    initialise(block, torch.Generator().manual_seed(0))
    x = torch.rand(2, 4, 5, 5)
    assert block(x).equal(x)


def test_accuracy_is_that_of_the_whole_box_and_of_right_images_alone():
    module = nn.Sequential(Normalise(1), nn.Flatten(), nn.Linear(1, 2)).double()
    state = {"0.mean": torch.zeros(1, 1, 1), "0.std": torch.ones(1, 1, 1)}
    state |= {"2.weight": torch.tensor([[0.0], [1.0]]), "2.bias": torch.tensor([0.5, 0.0])}
    module.load_state_dict(state)  # class 1 above 0.5
    images = torch.tensor([0, 101, 104, 255], dtype=torch.uint8).reshape(4, 1, 1, 1)
    deck = Deck(images, torch.tensor([0, 0, 0, 0]))
    assert measure_accuracy(module, deck, Ball(0.1)) == Counts(2, 3, 4)


def test_prepared_networks_depend_on_the_seed_alone(deck):
    torch.manual_seed(5)
    one = prepare("ConvSmall", deck, 3, seed=1)
    torch.manual_seed(6)
    same, other = prepare("ConvSmall", deck, 3, seed=1), prepare("ConvSmall", deck, 3, seed=2)
    assert all(a.equal(b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not one.get_parameter("8.weight").equal(other.get_parameter("8.weight"))
    normed = one[0](deck.floats())
    assert float(normed.mean()) == pytest.approx(0, abs=1e-5)
    assert float(normed.std()) == pytest.approx(1, abs=1e-5)


def test_validation_images_are_never_trained_on():
    images = torch.arange(200, dtype=torch.uint8).reshape(200, 1, 1, 1)
    deck = Deck(images, torch.arange(200))
    training, validation = split(deck, 50)
    assert len(training) == 150 and len(validation) == 50
    together = training.labels.tolist() + validation.labels.tolist()
    assert sorted(together) == list(range(200)) and together != list(range(200))
    assert split(deck, 50)[1].labels.equal(validation.labels)  # always the same ones
    for wrong in (0, 200):
        with pytest.raises(ValueError, match=f"between 1 and 199, got {wrong}"):
            split(deck, wrong)


def test_a_deck_of_floats_is_refused():
    with pytest.raises(ValueError, match="must be bytes"):
        Deck(torch.rand(1, 1, 2, 2), torch.zeros(1, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"must be int64 \(1,\)"):
        Deck(torch.zeros(1, 1, 2, 2, dtype=torch.uint8), torch.zeros(2, dtype=torch.int64))
