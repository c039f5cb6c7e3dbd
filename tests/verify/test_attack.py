"""attack: fields for users."""

from __future__ import annotations

import pytest
import torch

import warpcert as wc
from tests.verify.networks import brightness, step_image
from warpcert import Threat

QUARTER = Threat("inf", 0.25)


def test_one_image_gives_a_field_or_none() -> None:
    field = wc.attack(brightness(0.2), step_image(), 0, QUARTER)
    assert isinstance(field, torch.Tensor)
    assert tuple(field.shape) == (4, 4, 2) and field.dtype == torch.float64
    assert bool(QUARTER.contains(field[None]).all())
    bent = wc.warp(step_image()[None].double(), field[None])
    assert int(brightness(0.2)(bent).argmax()) == 1
    assert wc.attack(brightness(0.3), step_image(), 0, QUARTER) is None


def test_a_batch_gives_a_list() -> None:
    images = torch.stack([step_image(), step_image(0.0, 0.1)])
    found = wc.attack(brightness(0.2), images, torch.tensor([0, 0]), QUARTER)
    assert isinstance(found, list) and found[0] is not None and found[1] is None


def test_the_same_seed_finds_the_same() -> None:
    network = wc.load_network("mnist-convsmall-ibp")
    images, labels = wc.load_images("mnist:8")
    threat = Threat(2, 1.2, 0.2)
    one, two = (wc.attack(network, images, labels, threat, seed=1) for _ in range(2))
    assert isinstance(one, list) and isinstance(two, list)
    assert one[0] is not None and two[0] is not None and torch.equal(one[0], two[0])


def test_wrong_use_is_refused() -> None:
    with pytest.raises(ValueError, match="one image needs one label"):
        wc.attack(brightness(0.2), step_image(), torch.tensor([0, 1]), QUARTER)
    with pytest.raises(ValueError, match="labels must be 0 to 1"):
        wc.attack(brightness(0.2), step_image(), 7, QUARTER)
