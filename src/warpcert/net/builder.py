"""Builder: a network in the making."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass

import torch
from torch import Tensor

from warpcert.net.activation import Activation
from warpcert.net.affine import Affine, Shape
from warpcert.net.network import Network
from warpcert.net.reshape import Reshape
from warpcert.net.step import Step

LARGEST = 1 << 26
"""No value of one image may have more entries: half a gigabyte, fifty times what a network for
large photographs needs. A file that says otherwise is broken or means harm."""


@dataclass(frozen=True)
class Value:
    """A value of the network in the making, with the shape it has for one image."""

    number: int
    shape: Shape


class Builder:
    """Collects steps; the methods say what the readers of modules and files have in common."""

    def __init__(self, input_shape: Shape) -> None:
        """Start with the input alone."""
        self.input = Value(0, tuple(input_shape))
        self.name = ""
        self._steps: list[Step] = []
        check_size(self.input.shape)

    def affine(self, node: Affine, *inputs: Value) -> Value:
        """Apply an affine node."""
        _check_finite(node)
        return self._append(node, node.shape, inputs)

    def activation(self, node: Activation, x: Value) -> Value:
        """Apply an activation."""
        return self._append(node, x.shape, (x,))

    def network(self, output: Value) -> Network:
        """The network that ends in this value, without the steps it does not need."""
        if output.number == 0:
            output = self.affine(Reshape(output.shape, output.shape), output)
        needed = {output.number}
        for number in range(len(self._steps), 0, -1):
            if number in needed:
                needed.update(self._steps[number - 1].inputs)
        needed.add(0)
        places = {old: new for new, old in enumerate(sorted(needed))}
        steps = tuple(
            Step(step.node, tuple(places[k] for k in step.inputs), step.shape, step.name)
            for number, step in enumerate(self._steps, start=1)
            if number in needed
        )
        return Network(self.input.shape, steps)

    def _append(self, node: Affine | Activation, shape: Shape, inputs: tuple[Value, ...]) -> Value:
        check_size(shape)
        numbers = tuple(x.number for x in inputs)
        self._steps.append(Step(node, numbers, shape, self.name))
        return Value(len(self._steps), shape)


def check_size(shape: Shape) -> None:
    """Refuse what no honest network needs."""
    if math.prod(shape) > LARGEST:
        raise ValueError(f"a value of shape {shape} is too large: at most {LARGEST} entries")


def _check_finite(node: Affine) -> None:
    assert is_dataclass(node)
    for field in fields(node):
        numbers = getattr(node, field.name)
        if isinstance(numbers, Tensor) and not bool(torch.isfinite(numbers).all()):
            raise ValueError(f"{field.name} of a {type(node).__name__} has NaN or infinite entries")
