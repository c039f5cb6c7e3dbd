"""Arithmetic on values of a network in the making: numbers, shapes and sums."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from warpcert.net.affine import Shape
from warpcert.net.builder import Builder, Value, check_size
from warpcert.net.concat import Concat
from warpcert.net.linear import Linear
from warpcert.net.pad import Pad
from warpcert.net.permute import Permute
from warpcert.net.relu import Relu
from warpcert.net.reshape import Reshape
from warpcert.net.scale import Scale
from warpcert.net.sum import Sum
from warpcert.net.take import Take


def reshape(b: Builder, x: Value, shape: Shape) -> Value:
    """The same entries in another shape; nothing is added when it is the same."""
    return x if x.shape == tuple(shape) else b.affine(Reshape(x.shape, tuple(shape)), x)


def permute(b: Builder, x: Value, order: Sequence[int]) -> Value:
    """Axes in another order."""
    return b.affine(Permute(tuple(order), x.shape), x)


def take(b: Builder, x: Value, axis: int, index: Sequence[int] | range | Tensor) -> Value:
    """The entries at ``index`` along an axis; negative ones count from the end."""
    length = x.shape[axis]
    places = torch.as_tensor(list(index) if isinstance(index, range) else index, dtype=torch.int64)
    if bool(((places < -length) | (places >= length)).any()) or places.numel() == 0:
        raise ValueError(f"an index is empty or outside an axis of length {length}")
    places = torch.where(places < 0, places + length, places)
    if torch.equal(places, torch.arange(length)):
        return x
    return b.affine(Take(places, axis, x.shape), x)


def pad(b: Builder, x: Value, amounts: Sequence[tuple[int, int]], value: float = 0.0) -> Value:
    """A frame of one constant; negative amounts cut off."""
    if not any(n for pair in amounts for n in pair):
        return x
    return b.affine(Pad(torch.tensor(value, dtype=torch.float64), tuple(amounts), x.shape), x)


def concat(b: Builder, parts: Sequence[Value], axis: int) -> Value:
    """Values side by side."""
    return b.affine(Concat(tuple(part.shape for part in parts), axis), *parts)


def expand(b: Builder, x: Value, shape: Shape) -> Value:
    """x repeated along new axes and axes of length 1 until it has that shape."""
    check_size(shape)
    if len(shape) < len(x.shape):
        raise ValueError(f"shape {x.shape} cannot be expanded to {shape}")
    x = reshape(b, x, (*(1,) * (len(shape) - len(x.shape)), *x.shape))
    for axis, length in enumerate(shape):
        if x.shape[axis] == 1 and length != 1:
            x = take(b, x, axis, torch.zeros(length, dtype=torch.int64))
    if x.shape != tuple(shape):
        raise ValueError(f"shape {x.shape} cannot be expanded to {shape}")
    return x


def scale(b: Builder, x: Value, weight: Tensor | float, bias: Tensor | float) -> Value:
    """weight * x + bias; where the numbers have more entries than x, it is expanded first."""
    numbers = [
        torch.as_tensor(n, dtype=torch.float64, device="cpu").detach() for n in (weight, bias)
    ]
    shape = _broadcast(x.shape, *(tuple(n.shape) for n in numbers))
    x = expand(b, x, shape)
    full = [n.reshape(*(1,) * (len(shape) - n.dim()), *n.shape) for n in numbers]
    offset = full[1] if bool((full[1] != 0).any()) else None
    return b.affine(Scale(full[0].clone(), None if offset is None else offset.clone(), shape), x)


def total(b: Builder, terms: Sequence[Value], coefficients: Sequence[float]) -> Value:
    """A sum of values times numbers, each expanded to the common shape."""
    shape = _broadcast(*(term.shape for term in terms))
    return b.affine(Sum(tuple(coefficients), shape), *(expand(b, term, shape) for term in terms))


def maximum(b: Builder, x: Value, y: Value) -> Value:
    """max(x, y) = x + relu(y - x), exactly."""
    return total(b, (x, b.activation(Relu(), total(b, (y, x), (1.0, -1.0)))), (1.0, 1.0))


def minimum(b: Builder, x: Value, y: Value) -> Value:
    """min(x, y) = x - relu(x - y), exactly."""
    return total(b, (x, b.activation(Relu(), total(b, (x, y), (1.0, -1.0)))), (1.0, -1.0))


def clamp(b: Builder, x: Value, low: Tensor | float | None, high: Tensor | float | None) -> Value:
    """max(x, low) = low + relu(x - low) and min(x, high) = high - relu(high - x), exactly."""
    if low is not None and _is_finite(low, -math.inf):
        low = torch.as_tensor(low, dtype=torch.float64)
        x = x if not bool(low.any()) else scale(b, x, 1.0, -low)
        x = b.activation(Relu(), x)
        x = x if not bool(low.any()) else scale(b, x, 1.0, low)
    if high is not None and _is_finite(high, math.inf):
        high = torch.as_tensor(high, dtype=torch.float64)
        x = scale(b, b.activation(Relu(), scale(b, x, -1.0, high)), -1.0, high)
    return x


def matmul(b: Builder, x: Value, weight: Tensor, bias: Tensor | None = None) -> Value:
    """x @ weight (in, out) + bias."""
    if weight.dim() != 2:
        raise ValueError(f"a constant factor must be a matrix, got the shape {tuple(weight.shape)}")
    matrix = weight.detach().to("cpu", torch.float64).T.contiguous().clone()
    if bias is not None:
        bias = bias.detach().to("cpu", torch.float64)
        bias = bias.reshape(-1).expand(matrix.shape[0]).clone()
    return b.affine(Linear(matrix, bias, x.shape), x)


def reduce(b: Builder, x: Value, axes: Sequence[int], keep: bool, mean: bool) -> Value:
    """The sum or mean over axes: they are put last and joined, then summed by a matrix."""
    axes = sorted(axes)
    rest = [axis for axis in range(len(x.shape)) if axis not in axes]
    size = math.prod(x.shape[axis] for axis in axes)
    shape = [1 if axis in axes else n for axis, n in enumerate(x.shape)]
    short = tuple(shape) if keep else tuple(x.shape[axis] for axis in rest)
    order = [*rest, *axes]
    y = x if order == sorted(order) else permute(b, x, order)
    y = reshape(b, y, (*(x.shape[axis] for axis in rest), size))
    weight = torch.full((size, 1), 1 / size if mean else 1.0, dtype=torch.float64)
    return reshape(b, matmul(b, y, weight), short)


def batch_norm(
    b: Builder,
    x: Value,
    numbers: tuple[Tensor | None, Tensor | None, Tensor, Tensor],
    epsilon: float,
) -> Value:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias along the first axis.

    ``numbers`` are weight, bias, mean and variance, (C,) each.
    """
    weight, bias, mean, variance = numbers
    factor = 1 / torch.sqrt(variance + epsilon)
    factor = factor if weight is None else factor * weight
    shift = -mean * factor
    shift = shift if bias is None else shift + bias
    column = (-1, *(1,) * (len(x.shape) - 1))
    return scale(b, x, factor.reshape(column), shift.reshape(column))


def _broadcast(*shapes: Shape) -> Shape:
    try:
        return tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError:
        raise ValueError(f"shapes {', '.join(map(str, shapes))} do not fit together") from None


def _is_finite(limit: Tensor | float, absent: float) -> bool:
    """Whether there is a limit; an infinite one on its own side is none."""
    return not bool((torch.as_tensor(limit) == absent).all())
