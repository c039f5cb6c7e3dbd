"""FOLDS: ONNX operators on constants, computed while a file is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import helper

from warpcert.net.builder import LARGEST

Array = NDArray[Any]
Fold = Callable[[list[Any], dict[str, Any]], Any]


def listed(inputs: list[Any], attributes: dict[str, Any], place: int, name: str) -> Any:
    """Whole numbers that newer files give as an input and older ones as an attribute."""
    if len(inputs) > place and inputs[place] is not None:
        return [int(n) for n in np.asarray(inputs[place]).reshape(-1)]
    return attributes.get(name)


def _constant(_: list[Any], a: dict[str, Any]) -> Array:
    for name, dtype in (
        ("value", None),
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        if name in a:
            return np.asarray(a[name], dtype=dtype)
    raise ValueError("a Constant without a number")


def _filled(inputs: list[Any], a: dict[str, Any]) -> Array:
    shape = _sized(inputs[0])
    return np.full(shape, np.asarray(a.get("value", np.float32(0))).reshape(-1)[0])


def _gather(inputs: list[Any], a: dict[str, Any]) -> Array:
    index = np.asarray(inputs[1], np.int64)
    return np.asarray(np.take(inputs[0], index, axis=a.get("axis", 0)))


def _unsqueeze(inputs: list[Any], a: dict[str, Any]) -> Array:
    return np.expand_dims(inputs[0], tuple(listed(inputs, a, 1, "axes")))


def _squeeze(inputs: list[Any], a: dict[str, Any]) -> Array:
    axes = listed(inputs, a, 1, "axes")
    return np.squeeze(inputs[0], None if axes is None else tuple(axes))


def _cast(inputs: list[Any], a: dict[str, Any]) -> Array:
    return np.asarray(inputs[0]).astype(helper.tensor_dtype_to_np_dtype(a["to"]))


def _slice(inputs: list[Any], a: dict[str, Any]) -> Array:
    x = inputs[0]
    cut = [slice(None)] * x.ndim
    for axis, places in slices(inputs, a, x.ndim):
        cut[axis] = places
    return x[tuple(cut)]


def _reshape(inputs: list[Any], a: dict[str, Any]) -> Array:
    x = inputs[0]
    return x.reshape(new_shape(x.shape, inputs[1], bool(a.get("allowzero", 0))))


def _divide(inputs: list[Any], _: dict[str, Any]) -> Array:
    quotient = np.true_divide(*inputs)
    if all(np.issubdtype(np.asarray(x).dtype, np.integer) for x in inputs):
        quotient = np.trunc(quotient).astype(inputs[0].dtype)
    return np.asarray(quotient)


def _range(inputs: list[Any], _: dict[str, Any]) -> Array:
    start, stop, step = (np.asarray(x).item() for x in inputs)
    if step == 0 or (stop - start) / step > LARGEST:
        raise ValueError("a Range that is too long")
    return np.arange(start, stop, step, dtype=np.asarray(inputs[0]).dtype)


def _expand(inputs: list[Any], _: dict[str, Any]) -> Array:
    shape = np.broadcast_shapes(np.shape(inputs[0]), tuple(int(n) for n in inputs[1]))
    return np.broadcast_to(inputs[0], _sized(shape))


def _plain(function: Callable[..., Array]) -> Fold:
    return lambda inputs, _: np.asarray(function(*inputs))


def _sized(shape: Any) -> tuple[int, ...]:
    sizes = tuple(int(n) for n in np.asarray(shape).reshape(-1))
    if min(sizes, default=0) < 0 or math.prod(sizes) > LARGEST:
        raise ValueError(f"a constant of shape {sizes} is too large: at most {LARGEST} entries")
    return sizes


def slices(
    inputs: list[Any], attributes: dict[str, Any], rank: int
) -> list[tuple[int, slice[Any, Any, Any]]]:
    """What a Slice takes along which axes."""
    starts = listed(inputs, attributes, 1, "starts")
    ends = listed(inputs, attributes, 2, "ends")
    axes = listed(inputs, attributes, 3, "axes") or list(range(len(starts)))
    steps = listed(inputs, attributes, 4, "steps") or [1] * len(starts)
    if not all(-rank <= axis < rank for axis in axes):
        raise ValueError(f"a Slice along axes {axes} of {rank}")
    parts = zip(axes, starts, ends, steps, strict=True)
    return [(axis % rank, slice(start, end, step)) for axis, start, end, step in parts]


def new_shape(old: tuple[int, ...], target: Any, zero_is_zero: bool) -> tuple[int, ...]:
    """The shape that a Reshape means: 0 copies the old size, -1 is what is left."""
    sizes = [int(n) for n in np.asarray(target).reshape(-1)]
    if not zero_is_zero:
        sizes = [old[k] if n == 0 else n for k, n in enumerate(sizes)]
    known = math.prod(n for n in sizes if n != -1)
    if sizes.count(-1) == 1 and known > 0:
        sizes = [math.prod(old) // known if n == -1 else n for n in sizes]
    if min(sizes, default=1) < 0 or math.prod(sizes) != math.prod(old):
        raise ValueError(
            f"shape {old} cannot become {tuple(sizes)} (a file with a fixed batch other than 1 "
            "must be exported again with batch 1 or a free batch axis)"
        )
    return tuple(sizes)


FOLDS: dict[str, Fold] = {
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Shape": lambda x, a: np.array(np.shape(x[0])[a.get("start", 0) : a.get("end")], np.int64),
    "Size": lambda x, _: np.array(np.size(x[0]), np.int64),
    "Gather": _gather,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Concat": lambda x, a: np.concatenate([np.asarray(part) for part in x], a["axis"]),
    "Cast": _cast,
    "Slice": _slice,
    "Reshape": _reshape,
    "Flatten": lambda x, a: x[0].reshape(math.prod(x[0].shape[: a.get("axis", 1)]), -1),
    "Transpose": lambda x, a: np.transpose(x[0], a.get("perm")),
    "Identity": _plain(lambda x: x),
    "Add": _plain(np.add),
    "Sub": _plain(np.subtract),
    "Mul": _plain(np.multiply),
    "Div": _divide,
    "Neg": _plain(np.negative),
    "Sqrt": _plain(np.sqrt),
    "Pow": _plain(np.power),
    "Abs": _plain(np.abs),
    "Floor": _plain(np.floor),
    "Ceil": _plain(np.ceil),
    "Equal": _plain(np.equal),
    "Where": _plain(np.where),
    "Range": _range,
    "Expand": _expand,
    "ReduceProd": lambda x, a: np.prod(
        x[0],
        axis=None if listed(x, a, 1, "axes") is None else tuple(listed(x, a, 1, "axes")),
        keepdims=bool(a.get("keepdims", 1)),
    ),
}
