"""RULES: how each ONNX operator on values becomes nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import torch
from onnx import TensorProto
from torch import Tensor

from warpcert.net import arithmetic, axes, combine
from warpcert.net.absolute import Abs
from warpcert.net.activation import Activation
from warpcert.net.affine import Shape
from warpcert.net.builder import Builder, Value
from warpcert.net.convolution import Convolution
from warpcert.net.leaky import LeakyRelu
from warpcert.net.log import Log
from warpcert.net.onnx_constants import listed, new_shape, slices
from warpcert.net.pooling import Windows, average_pool, max_pool
from warpcert.net.relu import Relu
from warpcert.net.sigmoid import Sigmoid
from warpcert.net.square import Square
from warpcert.net.supported import Refused
from warpcert.net.tanh import Tanh


@dataclass(frozen=True)
class Call:
    """One node of the file: inputs are values, arrays, or None where left out."""

    builder: Builder
    inputs: list[Any]
    attributes: dict[str, Any]
    outputs: int
    opset: int

    @property
    def x(self) -> Value:
        """The first input, which must depend on the image."""
        if not isinstance(self.inputs[0], Value):
            raise Refused("its first input must depend on the image")
        return self.inputs[0]

    def array(self, place: int) -> Tensor | None:
        """An input that does not depend on the image, in float64; None if it is left out."""
        value = self.inputs[place] if place < len(self.inputs) else None
        if isinstance(value, Value):
            raise Refused(f"its input {place} must be constant")
        return None if value is None else torch.tensor(np.asarray(value, np.float64))

    def required(self, place: int) -> Tensor:
        """An input that must be there and constant."""
        array = self.array(place)
        if array is None:
            raise ValueError(f"input {place} is missing")
        return array

    def integers(self, place: int, name: str) -> list[int] | None:
        """Whole numbers, an input in newer files and an attribute in older ones."""
        if place < len(self.inputs) and isinstance(self.inputs[place], Value):
            raise Refused(f"its {name} must be constant")
        found = listed(self.inputs, self.attributes, place, name)
        return None if found is None else [int(n) for n in found]

    def reshaped(self, full: tuple[int, ...]) -> Value:
        """The first input in another shape, given with its batch of 1."""
        if not full or full[0] != 1:
            raise Refused("it joins the batch axis with others, or removes it")
        return arithmetic.reshape(self.builder, self.x, full[1:])

    @property
    def full(self) -> Shape:
        """The first input's shape with a batch of 1."""
        return (1, *self.x.shape)


Rule = Callable[[Call], Any]


def _convolution(c: Call) -> Value:
    weight = c.required(1)
    if weight.dim() != 4 or len(c.x.shape) != 3:
        raise Refused("only 2-d convolutions")
    stride, dilation = _pair(c, "strides"), _pair(c, "dilations")
    top, bottom, left, right = _pads(c, _two(weight.shape[2:]), stride, dilation)
    node = Convolution(
        weight,
        c.array(2),
        c.x.shape,
        stride,
        (top, bottom, left, right),
        dilation,
        c.attributes.get("group", 1),
    )
    return c.builder.affine(node, c.x)


def _gemm(c: Call) -> Value:
    if c.attributes.get("transA", 0):
        raise Refused("transA, which moves the batch axis")
    weight = c.required(1)
    weight = weight.T if c.attributes.get("transB", 0) else weight
    y = arithmetic.matmul(c.builder, c.x, c.attributes.get("alpha", 1.0) * weight)
    if len(c.inputs) < 3 or c.inputs[2] is None:
        return y
    return combine.plus(c.builder, y, c.inputs[2], 1.0, c.attributes.get("beta", 1.0))


def _matmul(c: Call) -> Value:
    one, other = c.inputs
    if isinstance(one, Value) and isinstance(other, Value):
        raise Refused("a product of two values that depend on the image")
    if isinstance(one, Value):
        weight = c.required(1)
        if weight.dim() == 1:
            y = arithmetic.matmul(c.builder, one, weight[:, None])
            return arithmetic.reshape(c.builder, y, y.shape[:-1])
        return arithmetic.matmul(c.builder, one, weight)
    weight = c.required(0)
    if weight.dim() != 2 or len(other.shape) != 2:
        raise Refused("a constant first factor that is no matrix, or acts on the batch axis")
    turned = arithmetic.permute(c.builder, other, (1, 0))
    y = arithmetic.matmul(c.builder, turned, weight.T)
    return arithmetic.permute(c.builder, y, (1, 0))


def _batch_norm(c: Call) -> Value:
    if c.attributes.get("training_mode", 0) or c.outputs > 1:
        raise Refused("training mode")
    weight, bias, mean, variance = (c.required(k) for k in (1, 2, 3, 4))
    epsilon = c.attributes.get("epsilon", 1e-5)
    return arithmetic.batch_norm(c.builder, c.x, (weight, bias, mean, variance), epsilon)


def _average_pool(c: Call) -> Value:
    rows, columns = _windows(c)
    counted = bool(c.attributes.get("count_include_pad", 0))
    return average_pool(c.builder, c.x, rows, columns, counted)


def _max_pool(c: Call) -> Value:
    if c.outputs > 1:
        raise Refused("its second output")
    rows, columns = _windows(c)
    return max_pool(c.builder, c.x, rows, columns)


def _windows(c: Call) -> tuple[Windows, Windows]:
    kernel = c.attributes.get("kernel_shape", ())
    if len(kernel) != 2 or len(c.x.shape) != 3:
        raise Refused("only 2-d pooling")
    stride, dilation = _pair(c, "strides"), _pair(c, "dilations")
    pads = _pads(c, _two(kernel), stride, dilation)
    ceil = bool(c.attributes.get("ceil_mode", 0))
    rows, columns = (
        Windows(
            *(c.x.shape[1 + k], kernel[k], stride[k], pads[2 * k], pads[2 * k + 1], dilation[k]),
            ceil=ceil,
        )
        for k in (0, 1)
    )
    if rows.drops_last or columns.drops_last:
        raise Refused("ceil_mode with a last window on padding alone, which programs differ about")
    return rows, columns


def _pads(
    c: Call, kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int]
) -> tuple[int, int, int, int]:
    """(top, bottom, left, right), as given or as ``auto_pad`` says."""
    mode = c.attributes.get("auto_pad", b"NOTSET")
    if mode == b"NOTSET":
        top, left, bottom, right = c.attributes.get("pads", (0, 0, 0, 0))
        return top, bottom, left, right
    if mode == b"VALID":
        return 0, 0, 0, 0
    pads = []
    for n, k, s, d in zip(c.x.shape[1:], kernel, stride, dilation, strict=True):
        needed = max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
        small, large = needed // 2, needed - needed // 2
        pads += [small, large] if mode == b"SAME_UPPER" else [large, small]
    return pads[0], pads[1], pads[2], pads[3]


def _global(mean: bool) -> Rule:
    def rule(c: Call) -> Value:
        if mean:
            where = range(1, len(c.x.shape))
            return arithmetic.reduce(c.builder, c.x, list(where), keep=True, mean=True)
        if len(c.x.shape) != 3:
            raise Refused("only 2-d pooling")
        rows, columns = (Windows(n, n, n) for n in c.x.shape[1:])
        return max_pool(c.builder, c.x, rows, columns)

    return rule


def _reduce(mean: bool) -> Rule:
    def rule(c: Call) -> Value:
        where = c.integers(1, "axes")
        if not where and c.attributes.get("noop_with_empty_axes", 0):
            return c.x
        if not where:
            raise Refused("it acts on the batch axis")
        keep = bool(c.attributes.get("keepdims", 1))
        places = [axes.axis(n, c.x) for n in where]
        return arithmetic.reduce(c.builder, c.x, places, keep, mean)

    return rule


def _pow(c: Call) -> Value:
    exponent = c.required(1)
    if bool((exponent == 2).all()) and exponent.numel() == 1:
        return c.builder.activation(Square(), c.x)
    raise Refused("an exponent other than 2")


def _clip(c: Call) -> Value:
    low, high = (
        c.array(place) if c.opset >= 11 else c.attributes.get(name)
        for place, name in ((1, "min"), (2, "max"))
    )
    return arithmetic.clamp(c.builder, c.x, low, high)


def _concat(c: Call) -> Value:
    if not all(isinstance(part, Value) for part in c.inputs):
        raise Refused("only values that depend on the image")
    return arithmetic.concat(c.builder, c.inputs, axes.axis(c.attributes["axis"], c.x))


def _split(c: Call) -> tuple[Value, ...]:
    axis = axes.axis(c.attributes.get("axis", 0), c.x)
    length, parts = c.x.shape[axis], c.outputs
    chunk = -(-length // parts)
    sizes = c.integers(1, "split") or [chunk] * (parts - 1) + [length - chunk * (parts - 1)]
    if sum(sizes) != length or len(sizes) != parts:
        raise ValueError(f"an axis of length {length} cannot be split into {sizes}")
    starts = [sum(sizes[:k]) for k in range(parts)]
    return tuple(
        arithmetic.take(c.builder, c.x, axis, range(start, start + size))
        for start, size in zip(starts, sizes, strict=True)
    )


def _pad(c: Call) -> Value:
    if c.attributes.get("mode", b"constant") != b"constant":
        raise Refused(f"mode {c.attributes['mode'].decode()}")
    pads = c.integers(1, "pads") or []
    rank = len(c.full)
    where = c.integers(3, "axes") or list(range(rank))
    if len(pads) != 2 * len(where):
        raise ValueError(f"{len(pads)} amounts of padding for {len(where)} axes")
    amounts = [(0, 0)] * rank
    for k, axis in enumerate(where):
        amounts[axis] = (pads[k], pads[k + len(where)])
    if any(amounts[0]):
        raise Refused("it acts on the batch axis")
    given = c.array(2)
    value = c.attributes.get("value", 0.0) if given is None else float(given.reshape(()))
    return arithmetic.pad(c.builder, c.x, amounts[1:], value)


def _slice(c: Call) -> Value:
    for place in range(1, len(c.inputs)):
        c.array(place)
    x = c.x
    for dim, cut in slices(c.inputs, c.attributes, len(c.full)):
        if dim == 0 and range(1)[cut] == range(1):
            continue
        axis = axes.axis(dim, x)
        x = arithmetic.take(c.builder, x, axis, range(x.shape[axis])[cut])
    return x


def _gather(c: Call) -> Value:
    c.required(1)
    index = np.asarray(c.inputs[1], np.int64)
    axis = axes.axis(c.attributes.get("axis", 0), c.x)
    y = arithmetic.take(c.builder, c.x, axis, torch.from_numpy(index.reshape(-1).copy()))
    shape = (*y.shape[:axis], *index.shape, *y.shape[axis + 1 :])
    return arithmetic.reshape(c.builder, y, shape)


def _transpose(c: Call) -> Value:
    order = c.attributes.get("perm") or list(range(len(c.full)))[::-1]
    return arithmetic.permute(c.builder, c.x, axes.order(order, c.x))


def _reshape(c: Call) -> Value:
    target = c.integers(1, "shape") or []
    return c.reshaped(new_shape(c.full, target, bool(c.attributes.get("allowzero", 0))))


def _flatten(c: Call) -> Value:
    axis = c.attributes.get("axis", 1)
    return c.reshaped((math.prod(c.full[:axis]), math.prod(c.full[axis:])))


def _squeeze(c: Call) -> Value:
    where = c.integers(1, "axes")
    if not where:
        raise Refused("it removes the batch axis")
    gone = [axes.axis(n, c.x) for n in where]
    if any(c.x.shape[axis] != 1 for axis in gone):
        raise ValueError(f"axes {where} of {c.full} cannot be squeezed")
    kept = tuple(n for axis, n in enumerate(c.x.shape) if axis not in gone)
    return arithmetic.reshape(c.builder, c.x, kept)


def _unsqueeze(c: Call) -> Value:
    where = c.integers(1, "axes") or []
    rank = len(c.full) + len(where)
    sizes = iter(c.full)
    added = {n % rank for n in where}
    return c.reshaped(tuple(1 if axis in added else next(sizes) for axis in range(rank)))


def _expand(c: Call) -> Value:
    target = c.integers(1, "shape") or []
    full = tuple(torch.broadcast_shapes(c.full, tuple(target)))
    if full[0] != 1 or len(full) != len(c.full):
        raise Refused("it changes the batch axis")
    return arithmetic.expand(c.builder, c.x, full[1:])


def _cast(c: Call) -> Value:
    floats = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
    if c.attributes.get("to") not in floats:
        raise Refused("conversion to whole numbers")
    return c.x


def _leaky_relu(c: Call) -> Value:
    return c.builder.activation(LeakyRelu(float(c.attributes.get("alpha", 0.01))), c.x)


def _apply(node: Activation) -> Rule:
    return lambda c: c.builder.activation(node, c.x)


def _pairwise(function: Callable[[Builder, Any, Any], Value]) -> Rule:
    """Of several inputs, two at a time."""
    return lambda c: reduce(lambda one, other: function(c.builder, one, other), c.inputs)


def _pair(c: Call, name: str) -> tuple[int, int]:
    return _two(c.attributes.get(name) or (1, 1))


def _two(numbers: Any) -> tuple[int, int]:
    one, other = numbers
    return int(one), int(other)


RULES: dict[str, Rule] = {
    "Conv": _convolution,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Add": lambda c: combine.plus(c.builder, c.inputs[0], c.inputs[1]),
    "Sub": lambda c: combine.plus(c.builder, c.inputs[0], c.inputs[1], 1.0, -1.0),
    "Mul": lambda c: combine.times(c.builder, *c.inputs),
    "Div": lambda c: combine.divided(c.builder, *c.inputs),
    "Sum": _pairwise(combine.plus),
    "Max": _pairwise(combine.largest),
    "Min": _pairwise(combine.smallest),
    "Neg": lambda c: arithmetic.scale(c.builder, c.x, -1.0, 0.0),
    "Pow": _pow,
    "BatchNormalization": _batch_norm,
    "AveragePool": _average_pool,
    "MaxPool": _max_pool,
    "GlobalAveragePool": _global(mean=True),
    "GlobalMaxPool": _global(mean=False),
    "ReduceMean": _reduce(mean=True),
    "ReduceSum": _reduce(mean=False),
    "Relu": _apply(Relu()),
    "Sigmoid": _apply(Sigmoid()),
    "Tanh": _apply(Tanh()),
    "Log": _apply(Log()),
    "Abs": _apply(Abs()),
    "LeakyRelu": _leaky_relu,
    "Clip": _clip,
    "Concat": _concat,
    "Split": _split,
    "Pad": _pad,
    "Slice": _slice,
    "Gather": _gather,
    "Transpose": _transpose,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Expand": _expand,
    "Cast": _cast,
    "Dropout": lambda c: c.x,
    "Identity": lambda c: c.x,
}
