"""Network: what it is made of, what it refuses, what it says."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn

from tests.contract.nodes import DOUBLE
from tests.net.modules import FLAT, SHAPE, ready
from warpcert.net import Activation, Network, Step
from warpcert.net.linear import Linear
from warpcert.net.relu import Relu
from warpcert.net.reshape import Reshape


@pytest.fixture
def network() -> Network:
    return Network.from_module(ready("convsmall"), SHAPE)


def test_sizes(network: Network) -> None:
    assert network.input_shape == SHAPE and network.classes == 3
    assert [network.shapes[k] for k in network.activations] == [(4, 3, 2), (5, 1, 1), (6,)]
    assert network.neurons == 24 + 5 + 6
    assert len(network) == len(list(network)) == len(network.shapes) - 1
    assert all(isinstance(network.steps[k - 1].node, Activation) for k in network.activations)


def test_values_are_those_of_every_step(network: Network) -> None:
    x = torch.randn(4, *SHAPE, dtype=DOUBLE)
    values = network.values(x)
    assert [tuple(v.shape) for v in values] == [(4, *shape) for shape in network.shapes]
    assert torch.equal(values[-1], network(x)) and torch.equal(values[0], x)


def test_summary(network: Network) -> None:
    assert network.summary() == (
        "images 2 x 8 x 7 -> 3 classes\n"
        "8 nodes: 2 Convolution, 3 Relu, 1 Reshape, 2 Linear\n"
        "35 neurons: 35 Relu"
    )


def test_summary_without_neurons() -> None:
    network = Network.from_module(nn.Sequential(nn.Flatten(), nn.Linear(FLAT, 3)).eval(), SHAPE)
    assert network.summary().endswith("0 neurons: none")


def test_a_network_cannot_be_changed(network: Network) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        network.input_shape = (1, 1, 1)  # type: ignore[misc]


def test_moving_keeps_the_original(network: Network) -> None:
    small = network.to("cpu", torch.float32)
    assert network.dtype == torch.float64 and small.dtype == torch.float32
    assert small.to(dtype=torch.float64).dtype == torch.float64
    with pytest.raises(ValueError, match=r"float32 or float64, got torch\.float16"):
        network.to(dtype=torch.float16)


def test_images_of_another_shape_are_refused(network: Network) -> None:
    with pytest.raises(ValueError, match=r"takes images \(B, 2, 8, 7\), got \(1, 2, 7, 8\)"):
        network(torch.zeros(1, 2, 7, 8))
    with pytest.raises(ValueError, match="takes images"):
        network(torch.zeros(2, 8, 7))


def linear(out: int, size: int) -> Linear:
    return Linear(torch.ones(out, size, dtype=DOUBLE), None, (size,))


FLATTEN = Step(Reshape((1, 2, 2), (4,)), (0,), (4,))
WRONG = {
    "an input that is no image": ((4,), (Step(linear(2, 4), (0,), (2,)),)),
    "an empty axis": ((1, 0, 2), (FLATTEN,)),
    "no inputs": ((1, 2, 2), (Step(Relu(), (), (1, 2, 2)),)),
    "a later value": ((1, 2, 2), (FLATTEN, Step(linear(2, 4), (2,), (2,)))),
    "a value of another shape": ((1, 2, 2), (FLATTEN, Step(linear(2, 3), (1,), (2,)))),
    "another shape than said": ((1, 2, 2), (FLATTEN, Step(linear(2, 4), (1,), (3,)))),
    "an activation that changes the shape": ((1, 2, 2), (Step(Relu(), (0,), (4,)),)),
    "an output that is no list of scores": ((1, 2, 2), (Step(Relu(), (0,), (1, 2, 2)),)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_graph_that_does_not_fit_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"\d"):
        Network(*WRONG[name])


def test_steps_know_their_names(network: Network) -> None:
    assert all(step.name for step in network)
