"""Pooling of every kind is torch's pooling."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.contract.nodes import DOUBLE, assert_close
from warpcert.net import arithmetic
from warpcert.net.builder import Builder, Value
from warpcert.net.pooling import Windows, average_pool, max_pool
from warpcert.net.relu import Relu
from warpcert.net.supported import Refused

PAIRS = st.tuples(st.integers(1, 4), st.integers(1, 4))


def scores(b: Builder, y: Value) -> Value:
    return arithmetic.reshape(b, y, (torch.Size(y.shape).numel(),))


@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    kernel=PAIRS,
    stride=PAIRS,
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    padded=st.booleans(),
    ceil=st.booleans(),
    counted=st.booleans(),
)
def test_any_pooling_agrees_with_torch(
    size: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    padded: bool,
    ceil: bool,
    counted: bool,
) -> None:
    padding = (kernel[0] // 2, kernel[1] // 2) if padded else (0, 0)
    x = torch.randn(2, 2, *size, dtype=DOUBLE) - 4
    for gaps, largest in ((dilation, True), ((1, 1), False)):
        reach = [d * (k - 1) + 1 for d, k in zip(gaps, kernel, strict=True)]
        assume(all(n + 2 * p >= r for n, p, r in zip(size, padding, reach, strict=True)))
        rows, columns = (
            Windows(size[k], kernel[k], stride[k], padding[k], padding[k], gaps[k], ceil)
            for k in (0, 1)
        )
        b = Builder((2, *size))
        if largest:
            truth = F.max_pool2d(x, kernel, stride, padding, gaps, ceil)
            assume(bool(torch.isfinite(truth).all()))
            y = max_pool(b, b.input, rows, columns)
        else:
            y = average_pool(b, b.input, rows, columns, counted)
            truth = F.avg_pool2d(x, kernel, stride, padding, ceil, counted)
        assert (2, *y.shape) == truth.shape
        assert_close(b.network(scores(b, y))(x), truth.flatten(1))


def test_max_pooling_takes_one_relu_for_each_comparison() -> None:
    b = Builder((1, 4, 4))
    network = b.network(scores(b, max_pool(b, b.input, Windows(4, 2, 2), Windows(4, 2, 2))))
    relus = [k for k in network.activations if isinstance(network.steps[k - 1].node, Relu)]
    assert len(relus) == 2 and network.neurons == 3 * 4


def test_a_window_on_the_padding_alone_is_refused() -> None:
    b = Builder((1, 4, 4))
    off, on = Windows(4, 1, 1, 2, 2), Windows(4, 2, 2)
    with pytest.raises(Refused, match="on the padding alone"):
        max_pool(b, b.input, off, on)
    with pytest.raises(Refused, match="on the padding alone"):
        average_pool(b, b.input, off, on, count_pad=False)
