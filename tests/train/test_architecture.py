"""Architectures have the sizes they are known for and compute what is verified."""

from __future__ import annotations

import pytest
import torch

import warpcert as wc
from warpcert.train import ARCHITECTURES, build, count_relus

MNIST, CIFAR = (1, 28, 28), (3, 32, 32)


@pytest.mark.parametrize(
    ("name", "shape", "relus"),
    [
        ("ConvSmall", MNIST, 3_604),
        ("ConvSmall", CIFAR, 4_852),
        ("ConvMed", MNIST, 5_704),
        ("ConvMed", CIFAR, 7_144),
        ("ConvBig", MNIST, 48_064),
        ("ConvBig", CIFAR, 62_464),
        ("ResNet", CIFAR, 107_496),
        ("Cnn7", CIFAR, 229_888),
    ],
)
def test_relus(name, shape, relus):
    assert count_relus(build(name, shape), shape) == relus


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_capture_agrees(name):
    module = build(name, CIFAR, classes=7)
    images = torch.rand(3, *CIFAR)
    module.get_buffer("0.mean").fill_(0.4)
    module.get_buffer("0.std").fill_(0.3)
    module(images)  # moves the running averages of batch normalisation
    module.eval()
    network = wc.Network.from_module(module, CIFAR)
    scores = module.double()(images.double())
    assert scores.shape == (3, 7)
    torch.testing.assert_close(network(images.double()), scores)


def test_counting_leaves_the_mode_alone():
    module = build("ResNet", CIFAR)
    count_relus(module, CIFAR)
    assert module.training
    assert module.get_buffer("2.num_batches_tracked").item() == 0


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ConvTiny", MNIST), "'ConvTiny': use one of ConvSmall"),
        (("ConvSmall", (28, 28)), r"must be \(C, H, W\)"),
        (("ConvSmall", (1, 5, 5)), "too small"),
        (("ConvSmall", MNIST, 1), "at least 2, got 1"),
    ],
)
def test_misuse(arguments, words):
    with pytest.raises(ValueError, match=words):
        build(*arguments)
