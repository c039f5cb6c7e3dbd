"""RULES: how each core ATen operator becomes nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from warpcert.net import arithmetic, axes, combine
from warpcert.net.absolute import Abs
from warpcert.net.activation import Activation
from warpcert.net.affine import Shape
from warpcert.net.average import AveragePool
from warpcert.net.builder import Builder, Value
from warpcert.net.convolution import Convolution
from warpcert.net.leaky import LeakyRelu
from warpcert.net.log import Log
from warpcert.net.pooling import Windows, adaptive_averages, average_pool, max_pool
from warpcert.net.relu import Relu
from warpcert.net.sigmoid import Sigmoid
from warpcert.net.square import Square
from warpcert.net.supported import Refused
from warpcert.net.tanh import Tanh


@dataclass(frozen=True)
class Call:
    """One call of an operator: arguments are values, constants or plain Python.

    ``shape`` is that of the result for one image; None where the batch is not its first axis.
    """

    builder: Builder
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shape: Shape | None

    def get(self, place: int, name: str, default: Any = None) -> Any:
        """An argument by place or name; one that is left out, or an empty list, is the default."""
        value = self.args[place] if place < len(self.args) else self.kwargs.get(name)
        return default if value is None or (isinstance(value, list) and not value) else value

    @property
    def x(self) -> Value:
        """The first argument, which must depend on the image."""
        if not isinstance(self.args[0], Value):
            raise Refused("its first argument must depend on the image")
        return self.args[0]

    def constant(self, place: int, name: str) -> Tensor | None:
        """A tensor argument that does not depend on the image, or None."""
        value = self.get(place, name)
        if isinstance(value, Value):
            raise Refused(f"its {name} must be constant")
        if value is None:
            return None
        return torch.as_tensor(value, dtype=torch.float64, device="cpu").detach()


Rule = Callable[[Call], Any]


def _convolution(c: Call) -> Value:
    weight, bias = c.constant(1, "weight"), c.constant(2, "bias")
    stride, padding, dilation, transposed, _, groups = c.args[3:9]
    assert weight is not None
    if transposed or weight.dim() != 4:
        raise Refused("only 2-d convolutions that are not transposed")
    top, left = _pair(padding)
    node = Convolution(
        weight.clone(),
        None if bias is None else bias.clone(),
        c.x.shape,
        _pair(stride),
        (top, top, left, left),
        _pair(dilation),
        groups,
    )
    return c.builder.affine(node, c.x)


def _linear(c: Call) -> Value:
    weight, bias = c.constant(1, "weight"), c.constant(2, "bias")
    assert weight is not None
    return arithmetic.matmul(c.builder, c.x, weight.T, bias)


def _addmm(c: Call) -> Value:
    x, weight = c.args[1], c.constant(2, "mat2")
    beta, alpha = c.get(3, "beta", 1), c.get(4, "alpha", 1)
    if not isinstance(x, Value):
        raise Refused("its first factor must depend on the image and its second must not")
    assert weight is not None
    y = arithmetic.matmul(c.builder, x, alpha * weight)
    return combine.plus(c.builder, y, c.args[0], 1, beta)


def _matmul(c: Call) -> Value:
    one, other = c.args[:2]
    if isinstance(one, Value) and isinstance(other, Value):
        raise Refused("a product of two values that depend on the image")
    if isinstance(one, Value):
        matrix = c.constant(1, "other")
        assert matrix is not None
        if matrix.dim() == 1:
            y = arithmetic.matmul(c.builder, one, matrix[:, None])
            return arithmetic.reshape(c.builder, y, y.shape[:-1])
        return arithmetic.matmul(c.builder, one, matrix)
    if one.dim() != 2 or len(other.shape) != 2:
        raise Refused("a constant first factor that is no matrix, or acts on the batch axis")
    turned = arithmetic.permute(c.builder, other, (1, 0))
    y = arithmetic.matmul(c.builder, turned, one.detach().to("cpu", torch.float64).T)
    return arithmetic.permute(c.builder, y, (1, 0))


def _add(c: Call) -> Value:
    return combine.plus(c.builder, c.args[0], c.args[1], 1, c.kwargs.get("alpha", 1))


def _sub(c: Call) -> Value:
    return combine.plus(c.builder, c.args[0], c.args[1], 1, -c.kwargs.get("alpha", 1))


def _rsub(c: Call) -> Value:
    return combine.plus(c.builder, c.args[1], c.args[0], 1, -c.kwargs.get("alpha", 1))


def _div(c: Call) -> Value:
    return combine.divided(c.builder, c.args[0], c.args[1])


def _pow(c: Call) -> Value:
    if float(c.args[1]) == 2:
        return c.builder.activation(Square(), c.x)
    if float(c.args[1]) == 1:
        return c.x
    raise Refused(f"exponent {c.args[1]}, only 2")


def _batch_norm(c: Call) -> tuple[Value]:
    weight, bias = c.constant(1, "weight"), c.constant(2, "bias")
    mean, var = c.constant(3, "running_mean"), c.constant(4, "running_var")
    if mean is None or var is None:
        raise Refused("it has no running mean and variance")
    return (arithmetic.batch_norm(c.builder, c.x, (weight, bias, mean, var), c.args[6]),)


def _max_pool(c: Call) -> tuple[Value]:
    rows, columns = _windows(c, c.get(4, "dilation", [1]), c.get(5, "ceil_mode", False))
    return (max_pool(c.builder, c.x, rows, columns),)


def _average_pool(c: Call) -> Value:
    if c.get(6, "divisor_override") is not None:
        raise Refused("a divisor of its own")
    rows, columns = _windows(c, [1], c.get(4, "ceil_mode", False))
    return average_pool(c.builder, c.x, rows, columns, c.get(5, "count_include_pad", True))


def _windows(c: Call, dilation: Sequence[int], ceil: bool) -> tuple[Windows, Windows]:
    if len(c.x.shape) != 3:
        raise Refused(f"an input {c.x.shape}, only (C, H, W)")
    kernel = _pair(c.args[1])
    stride, padding = _pair(c.get(2, "stride", kernel)), _pair(c.get(3, "padding", [0]))
    gaps = _pair(dilation)
    rows, columns = (
        Windows(c.x.shape[1 + k], kernel[k], stride[k], padding[k], padding[k], gaps[k], ceil)
        for k in (0, 1)
    )
    return rows, columns


def _adaptive_pool(c: Call) -> Value:
    height, width = c.x.shape[1:]
    oh, ow = _pair(c.args[1])
    rows, columns = adaptive_averages(height, oh), adaptive_averages(width, ow)
    return c.builder.affine(AveragePool(rows, columns, c.x.shape), c.x)


def _mean(c: Call) -> Value:
    return _reduce(c, mean=True)


def _sum(c: Call) -> Value:
    return _reduce(c, mean=False)


def _reduce(c: Call, mean: bool) -> Value:
    if c.get(1, "dim") is None:
        raise Refused("it acts on the batch axis")
    where = [axes.axis(n, c.x) for n in c.args[1]]
    return arithmetic.reduce(c.builder, c.x, where, c.get(2, "keepdim", False), mean)


def _leaky_relu(c: Call) -> Value:
    return c.builder.activation(LeakyRelu(float(c.get(1, "negative_slope", 0.01))), c.x)


def _clamp(c: Call) -> Value:
    low, high = c.get(1, "min"), c.get(2, "max")
    if isinstance(low, Value) or isinstance(high, Value):
        raise Refused("its limits must be constant")
    limits = [None if n is None else axes.unbatched(n, c.x) for n in (low, high)]
    return arithmetic.clamp(c.builder, c.x, limits[0], limits[1])


def _hardtanh(c: Call) -> Value:
    low, high = c.get(1, "min_val", -1.0), c.get(2, "max_val", 1.0)
    return arithmetic.clamp(c.builder, c.x, low, high)


def _concat(c: Call) -> Value:
    parts = c.args[0]
    if not all(isinstance(part, Value) for part in parts):
        raise Refused("only values that depend on the image")
    axis = axes.axis(c.get(1, "dim", 0), parts[0])
    return arithmetic.concat(c.builder, parts, axis)


def _split(c: Call) -> tuple[Value, ...]:
    axis = axes.axis(c.get(2, "dim", 0), c.x)
    parts, start = [], 0
    for length in c.args[1]:
        parts.append(arithmetic.take(c.builder, c.x, axis, range(start, start + length)))
        start += length
    return tuple(parts)


def _pad(c: Call) -> Value:
    flat = list(c.args[1])
    pairs = list(zip(flat[::2], flat[1::2], strict=True))[::-1]
    rank = len(c.x.shape)
    if len(pairs) > rank and any(pairs[0]):
        raise Refused("it acts on the batch axis")
    amounts = [(0, 0)] * (rank - len(pairs)) + pairs[-rank:]
    return arithmetic.pad(c.builder, c.x, amounts, float(c.get(2, "value", 0)))


def _slice(c: Call) -> Value:
    dim, start, end = c.get(1, "dim", 0), c.get(2, "start"), c.get(3, "end")
    step = c.get(4, "step", 1)
    if dim % (1 + len(c.x.shape)) == 0:
        whole = start in (None, 0) and step == 1 and not (isinstance(end, int) and end < 2**62)
        if whole:
            return c.x
    axis = axes.axis(dim, c.x)
    return arithmetic.take(c.builder, c.x, axis, range(c.x.shape[axis])[start:end:step])


def _select(c: Call) -> Value:
    axis = axes.axis(c.args[1], c.x)
    y = arithmetic.take(c.builder, c.x, axis, [c.args[2]])
    return arithmetic.reshape(c.builder, y, (*y.shape[:axis], *y.shape[axis + 1 :]))


def _index_select(c: Call) -> Value:
    index = c.args[2]
    if isinstance(index, Value):
        raise Refused("its index must be constant")
    return arithmetic.take(c.builder, c.x, axes.axis(c.args[1], c.x), index.cpu())


def _index(c: Call) -> Value:
    used = [(axis, index) for axis, index in enumerate(c.args[1]) if index is not None]
    if len(used) != 1 or not isinstance(used[0][1], Tensor) or used[0][1].dtype == torch.bool:
        raise Refused("only one constant list of places along one axis")
    axis, index = axes.axis(used[0][0], c.x), used[0][1].cpu()
    y = arithmetic.take(c.builder, c.x, axis, index.reshape(-1))
    return arithmetic.reshape(c.builder, y, (*y.shape[:axis], *index.shape, *y.shape[axis + 1 :]))


def _flip(c: Call) -> Value:
    x = c.x
    for dim in c.args[1]:
        axis = axes.axis(dim, x)
        x = arithmetic.take(c.builder, x, axis, range(x.shape[axis])[::-1])
    return x


def _permute(c: Call) -> Value:
    return arithmetic.permute(c.builder, c.x, axes.order(c.args[1], c.x))


def _view(c: Call) -> Value:
    """Any operator that keeps the entries of each image in order."""
    if c.shape is None:
        raise Refused("it joins the batch axis with others, or removes it")
    return arithmetic.reshape(c.builder, c.x, c.shape)


def _expand(c: Call) -> Value:
    if c.shape is None:
        raise Refused("it changes the batch axis")
    if len(c.shape) != len(c.x.shape):
        raise Refused("it adds an axis before the batch")
    return arithmetic.expand(c.builder, c.x, c.shape)


def _same(c: Call) -> Value:
    """Copies and conversions between floating dtypes: nothing, in real numbers."""
    dtype = c.kwargs.get("dtype")
    if dtype is not None and not dtype.is_floating_point:
        raise Refused(f"conversion to {dtype}")
    return c.x


def _apply(node: Activation) -> Rule:
    return lambda c: c.builder.activation(node, c.x)


def _pair(numbers: Any) -> tuple[int, int]:
    """One number or two as two."""
    both = [numbers] if isinstance(numbers, int) else list(numbers)
    if len(both) not in (1, 2):
        raise Refused("only two axes, height and width")
    return both[0], both[-1]


_aten = torch.ops.aten
RULES: dict[Any, Rule] = {
    _aten.convolution.default: _convolution,
    _aten.linear.default: _linear,
    _aten.addmm.default: _addmm,
    _aten.mm.default: _matmul,
    _aten.matmul.default: _matmul,
    _aten.add.Tensor: _add,
    _aten.add.Scalar: _add,
    _aten.sub.Tensor: _sub,
    _aten.sub.Scalar: _sub,
    _aten.rsub.Tensor: _rsub,
    _aten.rsub.Scalar: _rsub,
    _aten.mul.Tensor: lambda c: combine.times(c.builder, *c.args[:2]),
    _aten.mul.Scalar: lambda c: combine.times(c.builder, *c.args[:2]),
    _aten.div.Tensor: _div,
    _aten.div.Scalar: _div,
    _aten.neg.default: lambda c: arithmetic.scale(c.builder, c.x, -1.0, 0.0),
    _aten.pow.Tensor_Scalar: _pow,
    _aten._native_batch_norm_legit_no_training.default: _batch_norm,
    _aten.max_pool2d_with_indices.default: _max_pool,
    _aten.avg_pool2d.default: _average_pool,
    _aten._adaptive_avg_pool2d.default: _adaptive_pool,
    _aten.mean.dim: _mean,
    _aten.sum.dim_IntList: _sum,
    _aten.relu.default: _apply(Relu()),
    _aten.sigmoid.default: _apply(Sigmoid()),
    _aten.tanh.default: _apply(Tanh()),
    _aten.log.default: _apply(Log()),
    _aten.abs.default: _apply(Abs()),
    _aten.leaky_relu.default: _leaky_relu,
    _aten.clamp.default: _clamp,
    _aten.clamp.Tensor: _clamp,
    _aten.hardtanh.default: _hardtanh,
    _aten.maximum.default: lambda c: combine.largest(c.builder, *c.args[:2]),
    _aten.minimum.default: lambda c: combine.smallest(c.builder, *c.args[:2]),
    _aten.cat.default: _concat,
    _aten.split_with_sizes.default: _split,
    _aten.constant_pad_nd.default: _pad,
    _aten.slice.Tensor: _slice,
    _aten.select.int: _select,
    _aten.index_select.default: _index_select,
    _aten.index.Tensor: _index,
    _aten.flip.default: _flip,
    _aten.permute.default: _permute,
    _aten.view.default: _view,
    _aten._unsafe_view.default: _view,
    _aten.reshape.default: _view,
    _aten.squeeze.dims: _view,
    _aten.squeeze.dim: _view,
    _aten.unsqueeze.default: _view,
    _aten.expand.default: _expand,
    _aten.clone.default: _same,
    _aten.alias.default: _same,
    _aten.detach.default: _same,
    _aten._to_copy.default: _same,
    operator.pos: _same,
}
