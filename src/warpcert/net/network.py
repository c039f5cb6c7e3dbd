"""Network: a graph of affine maps and activations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from warpcert.core.shapes import Float
from warpcert.net.activation import Activation
from warpcert.net.affine import Affine, Shape
from warpcert.net.step import Step


@dataclass(frozen=True, eq=False)
class Network:
    """A classifier of images (C, H, W): steps in order, the last of which gives the scores.

    Everything has a leading batch axis, which no shape mentions. The numbers are kept in float64
    whatever they were stored in, so that what is proved is proved for them; ``to`` makes a copy
    in another dtype for the search.
    """

    input_shape: Shape
    steps: tuple[Step, ...]
    dtype: torch.dtype = torch.float64
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - a device is a value

    def __post_init__(self) -> None:
        """Refuse steps out of order or of shapes that do not fit, and an output without scores."""
        if len(self.input_shape) != 3 or min(self.input_shape) < 1:
            raise ValueError(f"a network's input must be (C, H, W), got {self.input_shape}")
        shapes: list[Shape] = [self.input_shape]
        for number, step in enumerate(self.steps, start=1):
            if not step.inputs or not all(0 <= k < number for k in step.inputs):
                raise ValueError(f"step {number} uses the values {step.inputs}, not earlier ones")
            given = tuple(shapes[k] for k in step.inputs)
            wanted = step.node.inputs if isinstance(step.node, Affine) else (step.shape,)
            made = step.node.shape if isinstance(step.node, Affine) else step.shape
            if given != wanted or made != step.shape:
                raise ValueError(
                    f"step {number} ({kind(step.node)}) takes {wanted} to {made}, "
                    f"but stands between {given} and {step.shape}"
                )
            shapes.append(step.shape)
        if len(shapes[-1]) != 1:
            raise ValueError(f"a network's output must be (classes,), got {shapes[-1]}")

    @staticmethod
    def from_module(module: torch.nn.Module, input_shape: Sequence[int]) -> Network:
        """The network that a torch module in eval mode computes on images (C, H, W).

        See `capture`. The module is not changed, and its numbers are copied.
        """
        from warpcert.net.capture import capture  # noqa: PLC0415 - it imports this module
        from warpcert.net.fold import fold  # noqa: PLC0415

        return fold(capture(module, input_shape))

    @property
    def classes(self) -> int:
        """The number of scores."""
        return self.shapes[-1][0]

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shape of every value: of the input, then of each step's output."""
        return (self.input_shape, *(step.shape for step in self.steps))

    @property
    def entries(self) -> int:
        """How many numbers all values of one image have together."""
        return sum(map(math.prod, self.shapes))

    @property
    def activations(self) -> tuple[int, ...]:
        """The values that are outputs of activations."""
        return tuple(
            number for number, step in enumerate(self.steps, 1) if isinstance(step.node, Activation)
        )

    @property
    def neurons(self) -> int:
        """How many activations are applied to one image."""
        return sum(math.prod(self.shapes[k]) for k in self.activations)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __call__(self, images: Tensor) -> Float[Tensor, "B classes"]:
        """The scores of images (B, C, H, W), computed in the network's dtype."""
        return self.values(images)[-1]

    def values(self, images: Tensor) -> list[Tensor]:
        """The images (B, C, H, W) and every step's output."""
        if images.dim() != 4 or tuple(images.shape[1:]) != self.input_shape:
            shape = ", ".join(str(n) for n in self.input_shape)
            raise ValueError(f"the network takes images (B, {shape}), got {tuple(images.shape)}")
        values = [images.to(self.dtype)]
        for step in self.steps:
            values.append(step.node(*(values[k] for k in step.inputs)))
        return values

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Network:
        """The same network on another device or with numbers of another floating dtype."""
        if dtype is not None and dtype not in (torch.float32, torch.float64):
            raise ValueError(f"a network's dtype must be float32 or float64, got {dtype}")
        where = self.device if device is None else torch.device(device)
        steps = tuple(
            replace(step, node=step.node.to(where, dtype))
            if isinstance(step.node, Affine)
            else step
            for step in self.steps
        )
        return Network(self.input_shape, steps, dtype or self.dtype, where)

    def summary(self) -> str:
        """A few lines for people: shapes, and how many nodes and neurons of each kind."""
        counts = Counter(kind(step.node) for step in self.steps)
        neurons: Counter[str] = Counter()
        for k in self.activations:
            neurons[kind(self.steps[k - 1].node)] += math.prod(self.shapes[k])
        shape = " x ".join(str(n) for n in self.input_shape)
        parts = ", ".join(f"{n} {name}" for name, n in counts.items())
        inner = ", ".join(f"{n:,} {name}" for name, n in neurons.items()) or "none"
        return (
            f"images {shape} -> {self.classes} classes\n"
            f"{len(self)} nodes: {parts}\n"
            f"{self.neurons:,} neurons: {inner}"
        )


def kind(node: Affine | Activation) -> str:
    """A node's kind in one word."""
    return type(node).__name__
