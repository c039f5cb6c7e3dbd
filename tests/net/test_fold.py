"""Folding changes the nodes, never the function; and it does happen where it should."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tests.contract.nodes import DOUBLE, assert_close
from tests.net.modules import SHAPE, ready
from warpcert.net import arithmetic, capture, fold
from warpcert.net.builder import Builder, Value
from warpcert.net.convolution import Convolution
from warpcert.net.network import kind


def randn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=DOUBLE)


def conv(b: Builder, x: Value, padding: int = 0, groups: int = 1, bias: bool = True) -> Value:
    weight = randn(4, x.shape[0] // groups, 3, 3)
    node = Convolution(
        weight, randn(4) if bias else None, x.shape, (2, 1), (padding,) * 4, groups=groups
    )
    return b.affine(node, x)


def shift(b: Builder, x: Value) -> Value:
    return arithmetic.scale(b, x, randn(x.shape[0], 1, 1), randn(x.shape[0], 1, 1))


def shrink(b: Builder, x: Value) -> Value:
    return arithmetic.scale(b, x, randn(x.shape[0], 1, 1), 0.0)


def head(b: Builder, x: Value) -> Value:
    size = torch.Size(x.shape).numel()
    return arithmetic.matmul(b, arithmetic.reshape(b, x, (size,)), randn(size, 3), randn(3))


CHAINS: dict[str, tuple[Callable[[Builder, Value], Value], list[str]]] = {
    "scales": (lambda b, x: head(b, shift(b, shift(b, x))), ["Reshape", "Linear"]),
    "scale after convolution": (
        lambda b, x: head(b, shift(b, conv(b, x, 1))),
        ["Convolution", "Reshape", "Linear"],
    ),
    "scale after convolution without bias": (
        lambda b, x: head(b, shift(b, conv(b, x, bias=False))),
        ["Convolution", "Reshape", "Linear"],
    ),
    "scale before convolution": (
        lambda b, x: head(b, conv(b, shift(b, x))),
        ["Convolution", "Reshape", "Linear"],
    ),
    "scale before convolution in groups": (
        lambda b, x: head(b, conv(b, shift(b, x), groups=2)),
        ["Convolution", "Reshape", "Linear"],
    ),
    "shift before padded convolution": (
        lambda b, x: head(b, conv(b, shift(b, x), 1)),
        ["Scale", "Convolution", "Reshape", "Linear"],
    ),
    "scale without shift before padded convolution": (
        lambda b, x: head(b, conv(b, shrink(b, x), 1)),
        ["Convolution", "Reshape", "Linear"],
    ),
    "scale per pixel before convolution": (
        lambda b, x: head(b, conv(b, arithmetic.scale(b, x, randn(*x.shape), randn(1)))),
        ["Scale", "Convolution", "Reshape", "Linear"],
    ),
    "zero padding before convolution": (
        lambda b, x: head(b, conv(b, arithmetic.pad(b, x, [(0, 0), (1, 0), (0, 2)]), 1)),
        ["Convolution", "Reshape", "Linear"],
    ),
    "padding by ones before convolution": (
        lambda b, x: head(b, conv(b, arithmetic.pad(b, x, [(0, 0), (1, 0), (0, 2)], 1.0))),
        ["Pad", "Convolution", "Reshape", "Linear"],
    ),
    "cropping before convolution": (
        lambda b, x: head(b, conv(b, arithmetic.pad(b, x, [(0, 0), (-1, 0), (0, 2)]))),
        ["Pad", "Convolution", "Reshape", "Linear"],
    ),
    "scale after matrix": (
        lambda b, x: arithmetic.scale(b, head(b, x), randn(3), randn(3)),
        ["Reshape", "Linear"],
    ),
    "number after matrix": (
        lambda b, x: arithmetic.scale(b, head(b, x), 2.0, 1.0),
        ["Reshape", "Linear"],
    ),
    "matrices": (
        lambda b, x: arithmetic.matmul(b, head(b, x), randn(3, 2), randn(2)),
        ["Reshape", "Linear"],
    ),
    "matrices of low rank": (
        lambda b, x: arithmetic.matmul(
            b, arithmetic.matmul(b, head(b, x), randn(3, 1)), randn(1, 50)
        ),
        ["Reshape", "Linear", "Linear"],
    ),
    "axes there and back": (
        lambda b, x: head(b, arithmetic.permute(b, arithmetic.permute(b, x, (2, 0, 1)), (1, 2, 0))),
        ["Reshape", "Linear"],
    ),
    "a scale used twice": (
        lambda b, x: twice(b, shift(b, x)),
        ["Scale", "Sum", "Reshape", "Linear"],
    ),
}


def twice(b: Builder, y: Value) -> Value:
    return head(b, arithmetic.total(b, (y, y), (1.0, 2.0)))


@pytest.mark.parametrize("name", CHAINS)
def test_chains(name: str) -> None:
    make, wanted = CHAINS[name]
    builder = Builder((2, 6, 7))
    network = builder.network(make(builder, builder.input))
    folded = fold(network)
    x = randn(3, 2, 6, 7)
    assert_close(folded(x), network(x))
    assert [kind(step.node) for step in folded] == wanted


def test_an_output_that_does_nothing_stays() -> None:
    builder = Builder((2, 1, 1))
    flat = arithmetic.reshape(builder, builder.input, (2,))
    network = fold(builder.network(arithmetic.scale(builder, flat, 1.0, 0.0)))
    x = randn(3, 2, 1, 1)
    assert torch.equal(network(x), x.flatten(1))


def test_batch_normalisation_disappears_into_convolutions() -> None:
    folded = fold(capture(ready("residual"), SHAPE))
    assert "Scale" not in {kind(step.node) for step in folded}
