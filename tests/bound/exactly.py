"""Networks of matrices and ReLUs in rational arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

from torch import Tensor

from warpcert import Bounds, Box, Network
from warpcert.net.leaky import LeakyRelu
from warpcert.net.linear import Linear
from warpcert.net.relu import Relu
from warpcert.net.reshape import Reshape

Numbers = list[Fraction]


def fractions(x: Tensor) -> Numbers:
    """The very numbers of a tensor, in a row."""
    return [Fraction(v) for v in x.flatten().tolist()]


def values(network: Network, image: Sequence[Fraction]) -> list[Numbers]:
    """The image and every step's output, exactly."""
    found = [list(image)]
    for step in network.steps:
        (x,) = (found[k] for k in step.inputs)
        match step.node:
            case Reshape():
                y = x
            case Relu():
                y = [max(v, Fraction(0)) for v in x]
            case LeakyRelu(slope=slope):
                y = [v if v > 0 else Fraction(slope) * v for v in x]
            case Linear(weight=weight, bias=bias):
                y = [inner(fractions(row), x) for row in weight]
                if bias is not None:
                    y = [v + b for v, b in zip(y, fractions(bias), strict=True)]
            case _:
                raise NotImplementedError(step.node)
        found.append(y)
    return found


def inner(row: Sequence[Fraction], x: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(row, x, strict=True) if a and b), Fraction(0))


def corners(box: Box) -> Iterator[Numbers]:
    """All corners of the box of one image."""
    low, high = fractions(box.box.lower[0]), fractions(box.box.upper[0])
    for ends in itertools.product(*(sorted({a, b}) for a, b in zip(low, high, strict=True))):
        yield list(ends)


def excess(network: Network, box: Box, rows: Tensor, bounds: Bounds) -> Fraction:
    """By how much bounds of one image exceed the exact values at the box's corners; <= 0: nowhere.

    Minus infinity exceeds nothing.
    """
    worst = Fraction(-1)
    for corner in corners(box):
        worst = max(worst, *gaps(network, corner, rows, bounds))
    return worst


def gaps(network: Network, image: Numbers, rows: Tensor, bounds: Bounds) -> list[Fraction]:
    """Each bound minus the exact value that it is a bound of, where it is finite."""
    exact = values(network, image)
    found = [Fraction(-1)]
    for row, bound in zip(rows[0], bounds.margins[0].tolist(), strict=True):
        assert bound < float("inf")
        if bound > -float("inf"):
            found.append(Fraction(bound) - inner(fractions(row), exact[-1]))
    for k, interval in bounds.layers.items():
        lower, upper = (end.flatten().tolist() for end in (interval.lower, interval.upper))
        for low, high, value in zip(lower, upper, exact[k], strict=True):
            if low > -float("inf"):
                found.append(Fraction(low) - value)
            if high < float("inf"):
                found.append(value - Fraction(high))
    return found
