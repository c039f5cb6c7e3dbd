"""bounds: what comes back, and in which order."""

from __future__ import annotations

import math

import pytest
import torch

import warpcert as wc
from tests.verify.networks import SHAPE, brightness, deep, step_image
from warpcert import Threat

QUARTER = Threat("inf", 0.25)
LABELS = torch.tensor([0])


def test_bounds_unpack_as_layers_and_margins() -> None:
    net = deep(([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[0.0, 1.0], [1.0, 0.0]], [0.0, 0.0]))
    found = wc.bounds(net, step_image()[None], QUARTER, LABELS)
    layers, margins = found
    assert list(layers) == [3]
    assert isinstance(layers[3], wc.Interval)
    assert layers[3].lower.tolist() == [pytest.approx([0.0, 0.75], abs=1e-6)]
    assert layers[3].upper.tolist() == [pytest.approx([0.25, 1.0], abs=1e-6)]
    assert margins.tolist() == [pytest.approx([0.5], abs=1e-6)]
    assert margins is found.margins and layers is found.layers
    assert margins.dtype == torch.float64


def test_margins_are_those_of_every_other_class_in_turn() -> None:
    net = brightness(0.5, 4)
    images = torch.stack([step_image()] * 3)
    for method in ("interval", "deeppoly", "alpha"):
        margins = wc.bounds(net, images, QUARTER, torch.tensor([0, 1, 3]), method).margins
        wanted = [[0.25, 1.5, 1.5], [-0.5, 1.0, 1.0], [-1.5, -1.25, 0.0]]
        assert margins.tolist() == [pytest.approx(row, abs=1e-6) for row in wanted]


@pytest.mark.parametrize("method", ["interval", "deeppoly", "alpha"])
def test_a_smaller_gamma_starts_from_a_larger_one(method: str) -> None:
    net = brightness(0.5)
    free = wc.bounds(net, step_image()[None], QUARTER, LABELS, method)
    smooth = Threat("inf", 0.25, 0.05)
    found = wc.bounds(net, step_image()[None], smooth, LABELS, method, warm=free)
    assert bool((found.margins >= free.margins).all())


@pytest.mark.parametrize("relaxation", ["hull", "box", "planes"])
def test_relaxations_without_flow_are_the_box_for_grey_images(relaxation: str) -> None:
    net = brightness(0.5)
    image = torch.rand((1, *SHAPE), dtype=torch.float64)
    plain = wc.bounds(net, image, QUARTER, LABELS, relaxation="box").margins
    found = wc.bounds(net, image, QUARTER, LABELS, relaxation=relaxation).margins  # type: ignore[arg-type]
    torch.testing.assert_close(found, plain, rtol=0, atol=1e-9)


def test_selecting_images_takes_everything_with_it() -> None:
    net = deep(([[1.0, -1.0], [-1.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0], [1.0, -1.0]], [0.0, 0.0]))
    images = torch.rand((3, *SHAPE), dtype=torch.float64)
    found = wc.bounds(net, images, QUARTER, torch.tensor([0, 1, 0]), "alpha")
    some = found.select(torch.tensor([2, 0]))
    assert torch.equal(some.margins, found.margins[[2, 0]])
    assert torch.equal(some.layers[3].lower, found.layers[3].lower[[2, 0]])
    assert torch.equal(some.layers[3].upper, found.layers[3].upper[[2, 0]])
    assert some.slopes.keys() == found.slopes.keys()
    for k, slope in found.slopes.items():
        assert torch.equal(some.slopes[k], slope[[2, 0]])


def test_images_in_float32_are_bounded_in_float64() -> None:
    image = torch.rand((1, *SHAPE))
    small = wc.bounds(brightness(0.5), image, QUARTER, LABELS).margins
    large = wc.bounds(brightness(0.5), image.double(), QUARTER, LABELS).margins
    assert small.dtype == torch.float64
    assert bool((small <= large).all()) and bool((small >= large - 1e-6).all())


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "crown"}, "method must be one of .*interval, deeppoly, alpha.*, got 'crown'"),
        (
            {"method": "interval", "intersect": False},
            "intersect=False is for the method 'deeppoly'",
        ),
        ({"relaxation": "star"}, "relaxation must be 'hull', 'planes' or 'box', got 'star'"),
        ({"labels": torch.tensor([2])}, "labels must be 0 to 1, got 2"),
        ({"labels": torch.tensor([0, 0])}, r"labels must be \(1,\), got \(2,\)"),
        ({"labels": 0}, "labels must be a tensor of whole numbers"),
        ({"labels": torch.tensor([0j])}, "labels must be a tensor of whole numbers"),
        ({"images": torch.zeros(SHAPE)}, "images must have the shape"),
        ({"images": torch.zeros(1, 1, 4, 5)}, r"the network takes images \(B, 1, 4, 4\)"),
        ({"images": torch.full((1, *SHAPE), math.nan)}, "images must be finite"),
        ({"images": torch.full((1, *SHAPE), -0.1)}, r"images must have values in \[0, 1\]"),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_misuse_is_told_in_one_line(change: dict, words: str) -> None:
    arguments = {"images": step_image()[None], "threat": QUARTER, "labels": LABELS, **change}
    with pytest.raises(ValueError, match=words) as caught:
        wc.bounds(brightness(0.3), **arguments)
    assert "\n" not in str(caught.value)
