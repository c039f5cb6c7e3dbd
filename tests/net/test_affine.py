"""Every affine node keeps the contract, for many parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from tests.contract.nodes import DOUBLE, AffineCase, AffineContract, assert_close, dense
from warpcert.net.average import AveragePool
from warpcert.net.concat import Concat
from warpcert.net.convolution import Convolution
from warpcert.net.linear import Linear
from warpcert.net.pad import Pad
from warpcert.net.permute import Permute
from warpcert.net.pooling import Windows, adaptive_averages, averages
from warpcert.net.reshape import Reshape
from warpcert.net.scale import Scale
from warpcert.net.sum import Sum
from warpcert.net.take import Take


def randn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=DOUBLE)


def convolution(
    channels: int,
    size: tuple[int, int],
    out: int,
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    dilation: tuple[int, int] = (1, 1),
    groups: int = 1,
    bias: bool = True,
) -> AffineCase:
    weight = randn(out, channels // groups, *kernel)
    shift = randn(out) if bias else None
    top, bottom, left, right = padding

    def reference(x: Tensor) -> Tensor:
        """Patches times weights, group by group."""
        padded = F.pad(x, (left, right, top, bottom))
        results = []
        for part, rows in zip(padded.chunk(groups, 1), weight.chunk(groups), strict=True):
            patches = F.unfold(part, kernel, dilation, 0, stride)
            results.append(rows.flatten(1) @ patches)
        y = torch.cat(results, 1)
        sizes = (
            (n - d * (k - 1) - 1) // s + 1
            for n, d, k, s in zip(padded.shape[2:], dilation, kernel, stride, strict=True)
        )
        y = y.unflatten(2, tuple(sizes))
        return y if shift is None else y + shift[:, None, None]

    node = Convolution(weight, shift, (channels, *size), stride, padding, dilation, groups)
    return AffineCase(node, reference)


CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "stride that leaves a rest": {"stride": (3, 2), "size": (9, 8)},
    "padding": {"padding": (1, 1, 2, 2)},
    "uneven padding": {"padding": (0, 1, 2, 1), "stride": (2, 2)},
    "dilation": {"dilation": (2, 1), "stride": (1, 2)},
    "groups": {"groups": 2, "stride": (2, 1)},
    "depthwise": {"groups": 4, "out": 8},
    "no bias": {"bias": False},
    "1 x 1 with stride": {"kernel": (1, 1), "stride": (2, 3)},
    "all": {
        "groups": 2,
        "stride": (3, 2),
        "dilation": (1, 2),
        "padding": (2, 0, 1, 3),
        "size": (8, 9),
    },
}


class TestConvolution(AffineContract):
    @pytest.fixture(params=CONVOLUTIONS.values(), ids=list(CONVOLUTIONS))
    def case(self, request: pytest.FixtureRequest) -> AffineCase:
        plain = {"channels": 4, "size": (7, 6), "out": 6, "kernel": (3, 2)}
        return convolution(**(plain | request.param))


@given(
    size=st.tuples(st.integers(1, 8), st.integers(1, 8)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    padding=st.tuples(*[st.integers(0, 3)] * 4),
    dilation=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    groups=st.sampled_from([1, 2]),
)
def test_any_convolution_keeps_the_contract(
    size: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int, int, int],
    dilation: tuple[int, int],
    groups: int,
) -> None:
    assume(size[0] + padding[0] + padding[1] > dilation[0] * (kernel[0] - 1))
    assume(size[1] + padding[2] + padding[3] > dilation[1] * (kernel[1] - 1))
    case = convolution(2, size, 2, kernel, stride, padding, dilation, groups)
    contract = AffineContract()
    contract.test_it_computes_what_it_should(case)
    contract.test_spread_is_the_magnitude_of_w_times_the_radii(case)
    contract.test_adjoint_is_the_transpose(case)


def linear() -> AffineCase:
    weight, bias = randn(5, 7), randn(5)
    return AffineCase(Linear(weight, bias, (7,)), lambda x: x @ weight.T + bias)


def linear_along_an_axis() -> AffineCase:
    weight = randn(5, 4)
    node = Linear(weight, None, (2, 3, 4))
    return AffineCase(node, lambda x: torch.einsum("bijk,lk->bijl", x, weight))


def scale() -> AffineCase:
    weight, bias = randn(3, 1, 1), randn(3, 4, 1)
    return AffineCase(Scale(weight, bias, (3, 4, 5)), lambda x: weight * x + bias)


def scale_without_bias() -> AffineCase:
    weight = randn(1, 6)
    return AffineCase(
        Scale(weight, None, (2, 6)), lambda x: torch.einsum("bij,j->bij", x, weight[0])
    )


def total() -> AffineCase:
    return AffineCase(Sum((1.0, -1.0, 0.5), (2, 3)), lambda x, y, z: x - y + z / 2)


def concat() -> AffineCase:
    node = Concat(((2, 3, 2), (2, 1, 2), (2, 3, 2)), 1)
    return AffineCase(node, lambda *parts: torch.cat(parts, dim=2))


def take() -> AffineCase:
    index = torch.tensor([3, 0, 3, 1])
    return AffineCase(Take(index, 1, (2, 4, 3)), lambda x: x[:, :, index])


def flip() -> AffineCase:
    return AffineCase(Take(torch.arange(4).flip(0), 0, (4, 2)), lambda x: x.flip(1))


def pad() -> AffineCase:
    node = Pad(torch.tensor(0.7, dtype=DOUBLE), ((0, 0), (1, 2), (3, 0)), (2, 3, 4))
    return AffineCase(node, lambda x: F.pad(x, (3, 0, 1, 2), value=0.7))


def crop() -> AffineCase:
    node = Pad(torch.tensor(0.0, dtype=DOUBLE), ((-1, 0), (1, -2)), (3, 4))
    return AffineCase(node, lambda x: F.pad(x[:, 1:, :2], (1, 0)))


def reshape() -> AffineCase:
    return AffineCase(Reshape((2, 6), (3, 2, 2)), lambda x: x.view(-1, 3, 2, 2))


def permute() -> AffineCase:
    return AffineCase(Permute((2, 0, 1), (2, 3, 4)), lambda x: torch.einsum("bijk->bkij", x))


def average(**options: Any) -> Callable[[], AffineCase]:
    """torch's pooling beside ours; the options are torch's."""

    def make() -> AffineCase:
        kernel, stride = options["kernel_size"], options["stride"]
        padding, ceil = options.get("padding", (0, 0)), options.get("ceil_mode", False)
        count = options.get("count_include_pad", True)
        size = (7, 8)
        matrices = [
            averages(Windows(size[k], kernel[k], stride[k], padding[k], padding[k], 1, ceil), count)
            for k in (0, 1)
        ]
        node = AveragePool(matrices[0], matrices[1], (2, *size))
        return AffineCase(node, lambda x: F.avg_pool2d(x, **options))

    return make


def adaptive() -> AffineCase:
    node = AveragePool(adaptive_averages(7, 3), adaptive_averages(8, 5), (2, 7, 8))
    return AffineCase(node, lambda x: F.adaptive_avg_pool2d(x, (3, 5)))


MAKERS = {
    "linear": linear,
    "linear along an axis": linear_along_an_axis,
    "scale": scale,
    "scale without bias": scale_without_bias,
    "sum": total,
    "concat": concat,
    "take": take,
    "flip": flip,
    "pad": pad,
    "crop": crop,
    "reshape": reshape,
    "permute": permute,
    "average": average(kernel_size=(2, 3), stride=(2, 1)),
    "average, padding counts": average(kernel_size=(3, 2), stride=(2, 2), padding=(1, 1)),
    "average, padding does not count": average(
        kernel_size=(3, 2), stride=(2, 2), padding=(1, 1), count_include_pad=False
    ),
    "average, windows over the end": average(
        kernel_size=(2, 3), stride=(2, 3), padding=(1, 1), ceil_mode=True
    ),
    "average, windows over the end, padding does not count": average(
        kernel_size=(2, 3), stride=(2, 3), padding=(1, 1), ceil_mode=True, count_include_pad=False
    ),
    "adaptive average": adaptive,
}


class TestOthers(AffineContract):
    @pytest.fixture(params=MAKERS.values(), ids=list(MAKERS))
    def case(self, request: pytest.FixtureRequest) -> AffineCase:
        made: AffineCase = request.param()
        return made


def test_dense_oracle_of_a_known_matrix() -> None:
    weight = torch.tensor([[1.0, -2.0], [0.0, 3.0]], dtype=DOUBLE)
    assert_close(dense(Linear(weight, torch.ones(2, dtype=DOUBLE), (2,)))[0], weight)


MISFITS: list[Callable[[], object]] = [
    lambda: Linear(randn(3, 4), None, (5,)),
    lambda: Scale(randn(3, 1), None, (2, 4)),
    lambda: Scale(randn(3), None, (2, 3)),
    lambda: Concat(((2, 3), (3, 3)), 1),
    lambda: Concat(((2, 3), (2, 3)), 2),
    lambda: Take(torch.tensor([0]), 2, (2, 2)),
    lambda: Pad(torch.zeros(()), ((0, 0),), (2, 2)),
    lambda: Pad(torch.zeros(()), ((-3, 2),), (2,)),
    lambda: Reshape((2, 3), (5,)),
    lambda: Permute((0, 0), (2, 3)),
    lambda: AveragePool(randn(2, 3), randn(2, 3), (1, 3, 4)),
    lambda: Convolution(randn(2, 3, 3, 3), None, (2, 5, 5)),
    lambda: Convolution(randn(2, 2, 3, 3), None, (2, 2, 5)),
    lambda: Convolution(randn(2, 2, 3, 3), None, (2, 5, 5), stride=(0, 1)),
    lambda: Convolution(randn(2, 2, 3, 3), None, (50,)),
    lambda: Windows(3, 5, 1),
    lambda: Windows(3, 1, 0),
]


@pytest.mark.parametrize("make", MISFITS)
def test_what_does_not_fit_is_refused_in_one_line(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"\d") as caught:
        make()
    assert "\n" not in str(caught.value)
