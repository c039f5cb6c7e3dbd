"""A captured module computes what the module computes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.contract.nodes import DOUBLE, assert_close
from tests.net.modules import FLAT, MODULES, SHAPE, Written, pointwise, ready
from warpcert.core import Unsupported
from warpcert.net import Activation, Affine, Network, capture, fold


@pytest.mark.parametrize("name", MODULES)
def test_module_and_network_agree(name: str) -> None:
    module = ready(name)
    network = capture(module, SHAPE)
    folded = fold(network)
    assert len(folded) <= len(network)
    for batch in (1, 3):
        x = torch.randn(batch, *SHAPE, dtype=DOUBLE)
        with torch.no_grad():
            truth = module(x)
        assert_close(network(x), truth)
        assert_close(folded(x), truth)
    assert all(isinstance(step.node, Affine | Activation) for step in network)


def test_a_float32_module_becomes_a_float64_network() -> None:
    module = ready("residual", torch.float32)
    network = Network.from_module(module, SHAPE)
    x = torch.randn(2, *SHAPE)
    assert network.dtype == torch.float64
    assert_close(network(x), module.double()(x.double()).detach())
    small = network.to(dtype=torch.float32)
    assert small(x).dtype == torch.float32 and small.dtype == torch.float32
    assert_close(small(x).double(), network(x), 1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_modules_are_taken_at_their_exact_numbers(dtype: torch.dtype) -> None:
    module = ready("mlp", dtype)
    network = Network.from_module(module, SHAPE)
    x = torch.randn(2, *SHAPE, dtype=DOUBLE)
    assert_close(network(x), module.double()(x).detach())


def test_the_module_is_neither_changed_nor_shared() -> None:
    module = ready("residual")
    before = copy.deepcopy(module.state_dict())
    network = Network.from_module(module, SHAPE)
    assert all(torch.equal(before[k], v) for k, v in module.state_dict().items())
    assert all(p.requires_grad for p in module.parameters())
    x = torch.randn(1, *SHAPE, dtype=DOUBLE)
    scores = network(x)
    assert not scores.requires_grad
    with torch.no_grad():
        for p in (*module.parameters(), *module.buffers()):
            p.zero_()
    assert torch.equal(network(x), scores)


def test_gradients_flow_to_the_images() -> None:
    x = torch.randn(1, *SHAPE, dtype=DOUBLE, requires_grad=True)
    Network.from_module(ready("convsmall"), SHAPE)(x).sum().backward()
    assert x.grad is not None and bool((x.grad != 0).any())


def test_a_module_in_training_mode_is_refused() -> None:
    module = ready("residual")
    module.get_submodule("0.norm").train()
    with pytest.raises(ValueError, match=r"0\.norm is in training mode: call module\.eval\(\)"):
        Network.from_module(module, SHAPE)


@pytest.mark.parametrize("shape", [(8, 7), (2, 0, 3), (1, 2, 8, 7)])
def test_a_wrong_input_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"input_shape must be \(C, H, W\), got"):
        capture(ready("mlp"), shape)


def broken(forward: Callable[[Any, Tensor], Any]) -> nn.Module:
    return Written(forward, head=nn.Linear(FLAT, 3)).eval()


MISUSES = {
    "sizes do not fit": broken(lambda m, x: m.head(x.flatten(1)[:, 1:])),
    "the batch is fixed": broken(lambda m, x: m.head(x.reshape(2, FLAT))),
    "control flow on numbers": broken(lambda m, x: m.head(x.flatten(1)) if x.sum() > 0 else x),
    "two outputs": broken(lambda m, x: (m.head(x.flatten(1)), x)),
    "an output of the wrong rank": broken(lambda m, x: x * 2),
    "an output without the input": broken(lambda m, x: m.head.weight[:, :3]),
    "infinite weights": broken(lambda m, x: m.head(x.flatten(1)) / 0),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_is_one_clear_line(name: str) -> None:
    with pytest.raises(ValueError, match=r"\w{4}") as caught:
        capture(MISUSES[name], SHAPE)
    assert "\n" not in str(caught.value)


UNKNOWN = {
    "gelu": nn.functional.gelu,
    "softmax": lambda x: x.softmax(1),
    "sin": torch.sin,
    "exp": torch.exp,
    "pow": lambda x: x**3,
    "mul": lambda x: x * x.relu(),
    "div": lambda x: x / x.abs(),
    "reciprocal": lambda x: 1 / x,
    "mean": lambda x: x - x.mean(0, keepdim=True),
    "permute": lambda x: x.T.contiguous().T,
    "view": lambda x: x.reshape(-1, 3).relu().reshape(-1, 6),
    "matmul": lambda x: (x[:, None] @ x[:, :, None]).flatten(1).expand(-1, 6),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_operator_is_named_with_its_node_and_what_is_supported(name: str) -> None:
    function: Callable[[Tensor], Tensor] = UNKNOWN[name]
    with pytest.raises(Unsupported, match=rf"operator aten\.\w*{name}\S* at node '\w+'") as caught:
        capture(pointwise(function).eval(), SHAPE)
    assert "supported: 2-d convolution, linear" in str(caught.value)


def test_other_convolutions_are_unsupported() -> None:
    up = Written(lambda m, x: m.up(x).mean((2, 3)), up=nn.ConvTranspose2d(2, 3, 3)).eval()
    with pytest.raises(Unsupported, match="transposed"):
        capture(up, SHAPE)
    flat = Written(lambda m, x: m.conv(x.flatten(2)).mean(2), conv=nn.Conv1d(2, 3, 3)).eval()
    with pytest.raises(Unsupported, match="2-d"):
        capture(flat, SHAPE)
