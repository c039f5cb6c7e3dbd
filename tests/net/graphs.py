"""ONNX graphs written by hand: one operator or pattern each, behind it a matrix for the scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
SHAPE = (2, 6, 7)


class Graph:
    """Collects nodes and constants; the last node's output becomes the graph's output."""

    def __init__(
        self,
        shape: Sequence[int | str] = (1, *SHAPE),
        opset: int = 17,
        dtype: Any = np.float32,
    ) -> None:
        self.shape, self.opset, self.dtype = list(shape), opset, dtype
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(1)

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        names = [f"v{len(self.nodes)}" + (f"_{k}" if k else "") for k in range(outputs)]
        self.nodes.append(
            helper.make_node(op, list(inputs), names, name=f"n{len(self.nodes)}", **attributes)
        )
        return names[0]

    def constant(self, values: Any, dtype: Any = None) -> str:
        name = f"c{len(self.constants)}"
        array = np.asarray(values, self.dtype if dtype is None else dtype)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def numbers(self, *shape: int) -> str:
        return self.constant(self.random.normal(size=shape))

    def integers(self, *values: int) -> str:
        return self.constant(values, np.int64)

    def head(self, x: str, size: int) -> str:
        flat = self.add("Flatten", x)
        return self.add("Gemm", flat, self.numbers(size, 3), self.numbers(3))

    def model(self, output: str | None = None) -> onnx.ModelProto:
        element = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        last = output or self.nodes[-1].output[0]
        graph = helper.make_graph(
            self.nodes,
            "made by hand",
            [helper.make_tensor_value_info("x", element, self.shape)],
            [helper.make_tensor_value_info(last, element, None)],
            self.constants,
        )
        opset = helper.make_opsetid("", self.opset)
        return helper.make_model(graph, opset_imports=[opset], ir_version=8)

    def save(self, path: Path) -> Path:
        path.write_bytes(self.model().SerializeToString())
        return path


def plain(
    op: str, size: int, opset: int = 17, constants: Sequence[Any] = (), **attributes: Any
) -> Callable[[], Graph]:
    """One operator on the image, with float constants (or integers, where they are lists)."""

    def make() -> Graph:
        g = Graph(opset=opset)
        inputs = [
            "" if c is None else g.integers(*c) if isinstance(c, list) else g.constant(c)
            for c in constants
        ]
        g.head(g.add(op, "x", *inputs, **attributes), size)
        return g

    return make


def convolution(size: int, kernel: Sequence[int], **attributes: Any) -> Callable[[], Graph]:
    def make() -> Graph:
        g = Graph()
        weight, bias = g.numbers(*kernel), g.numbers(kernel[0])
        g.head(g.add("Conv", "x", weight, bias, **attributes), size)
        return g

    return make


def gemm(**attributes: Any) -> Callable[[], Graph]:
    def make() -> Graph:
        g = Graph()
        weight = g.numbers(3, 84) if attributes.get("transB") else g.numbers(84, 3)
        g.add("Gemm", g.add("Flatten", "x"), weight, g.numbers(1, 3), **attributes)
        return g

    return make


def shape_from_the_input() -> Graph:
    """What older exporters write for x.view(x.size(0), -1)."""
    g = Graph(("batch", *SHAPE), opset=11)
    size = g.add("Gather", g.add("Shape", "x"), g.constant(0, np.int64), axis=0)
    rest = g.add("Constant", value=numpy_helper.from_array(np.array(-1, np.int64)))
    parts = [g.add("Unsqueeze", part, axes=[0]) for part in (size, rest)]
    flat = g.add("Reshape", "x", g.add("Concat", *parts, axis=0))
    g.add("Gemm", flat, g.numbers(84, 3))
    return g


def shape_computed() -> Graph:
    """Sizes multiplied, divided, sliced and cast before they are used."""
    g = Graph()
    sizes = g.add("Slice", g.add("Shape", "x"), g.integers(1), g.integers(3), g.integers(0))
    size = g.add("ReduceProd", sizes, keepdims=0)
    half = g.add("Div", g.add("Cast", size, to=TensorProto.INT64), g.constant(2, np.int64))
    twice = g.add("Mul", half, g.constant(2, np.int64))
    target = g.add("Concat", g.integers(1, -1), g.add("Unsqueeze", twice, g.integers(0)), axis=0)
    g.head(g.add("Reshape", "x", target), 84)
    return g


def matmul_from_both_sides() -> Graph:
    g = Graph()
    y = g.add("Reshape", "x", g.integers(0, 12, 7))
    y = g.add("MatMul", g.numbers(5, 12), g.add("MatMul", y, g.numbers(7, 4)))
    g.head(y, 20)
    return g


def residual() -> Graph:
    g = Graph()
    y = g.add("Conv", "x", g.numbers(2, 2, 3, 3), pads=[1, 1, 1, 1])
    y = g.add("BatchNormalization", y, *_statistics(g), epsilon=0.1)
    y = g.add("Relu", g.add("Add", y, "x"))
    y = g.add("Sub", y, g.add("Sigmoid", "x"))
    g.head(g.add("Sum", y, "x", y), 84)
    return g


def _statistics(g: Graph) -> list[str]:
    positive = g.constant(g.random.uniform(0.2, 2, size=2))
    return [g.numbers(2), g.numbers(2), g.numbers(2), positive]


def normalisation() -> Graph:
    """Without an epsilon: the default counts."""
    g = Graph()
    small = g.constant([1e-5, 3e-5])
    y = g.add("BatchNormalization", "x", g.numbers(2), g.numbers(2), g.numbers(2), small)
    g.head(y, 84)
    return g


def split_and_joined() -> Graph:
    g = Graph()
    one = g.add("Split", "x", g.integers(1, 4, 1), outputs=3, axis=2)
    y = g.add("Concat", f"{one}_2", one, f"{one}_1", axis=-2)
    g.head(g.add("Max", y, "x", g.constant(0.2)), 84)
    return g


def numbers_all_around() -> Graph:
    g = Graph()
    y = g.add("Sub", g.constant([[[0.5]], [[0.1]]]), "x")
    y = g.add("Div", g.add("Mul", y, g.numbers(1, 2, 1, 7)), g.constant(0.3))
    y = g.add("Neg", g.add("Add", y, g.numbers(6, 1)))
    g.head(g.add("Min", y, g.constant(1.5)), 84)
    return g


def passed_through() -> Graph:
    g = Graph()
    y = g.add("Identity", g.add("Dropout", "x"))
    y = g.add("Cast", g.add("Cast", y, to=TensorProto.DOUBLE), to=TensorProto.FLOAT)
    g.head(y, 84)
    return g


def curves() -> Graph:
    g = Graph()
    y = g.add("Abs", g.add("Tanh", g.add("LeakyRelu", "x", alpha=0.3)))
    y = g.add("Log", g.add("Add", g.add("Mul", y, y), g.constant(0.5)))
    g.head(g.add("Pow", g.add("LeakyRelu", y), g.constant(2)), 84)
    return g


def doubles() -> Graph:
    g = Graph(dtype=np.float64)
    y = g.add("Clip", g.add("Relu", "x"), "", g.constant(0.7))
    g.head(g.add("MatMul", y, g.numbers(7, 2)), 24)
    return g


GRAPHS: dict[str, Callable[[], Graph]] = {
    "conv": convolution(60, (3, 2, 3, 3)),
    "conv, uneven pads": convolution(72, (3, 2, 3, 3), pads=[0, 1, 2, 1], strides=[1, 2]),
    "conv, stride, dilation": convolution(18, (3, 2, 2, 3), strides=[2, 2], dilations=[3, 1]),
    "conv, groups": convolution(80, (4, 1, 3, 3), group=2),
    "conv, same upper": convolution(36, (3, 2, 3, 2), auto_pad="SAME_UPPER", strides=[2, 2]),
    "conv, same lower": convolution(36, (3, 2, 3, 2), auto_pad="SAME_LOWER", strides=[2, 2]),
    "conv, valid": convolution(60, (3, 2, 3, 3), auto_pad="VALID"),
    "gemm": gemm(),
    "gemm, transB, alpha, beta": gemm(transB=1, alpha=0.5, beta=-2.0),
    "matmul": matmul_from_both_sides,
    "shape from the input": shape_from_the_input,
    "shape computed": shape_computed,
    "residual": residual,
    "normalisation": normalisation,
    "split and joined": split_and_joined,
    "numbers all around": numbers_all_around,
    "passed through": passed_through,
    "curves": curves,
    "doubles": doubles,
    "average pool": plain(
        "AveragePool", 24, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 1, 1, 0]
    ),
    "average pool, padding counts": plain(
        "AveragePool", 24, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 1, 1, 0],
        count_include_pad=1,
    ),
    "average pool, over the end": plain(
        "AveragePool", 12, kernel_shape=[3, 3], strides=[3, 3], ceil_mode=1
    ),
    "max pool": plain("MaxPool", 24, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 1, 1, 0]),
    "max pool, dilated": plain("MaxPool", 20, kernel_shape=[3, 3], dilations=[2, 1]),
    "max pool, over the end": plain(
        "MaxPool", 18, kernel_shape=[3, 3], strides=[3, 3], pads=[1, 1, 1, 1], ceil_mode=1
    ),
    "max pool, same": plain(
        "MaxPool", 24, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"
    ),
    "global average pool": plain("GlobalAveragePool", 2),
    "global max pool": plain("GlobalMaxPool", 2),
    "reduce mean": plain("ReduceMean", 12, axes=[-1], keepdims=0),
    "reduce mean, axes as input": plain("ReduceMean", 14, opset=18, constants=[[2]]),
    "reduce sum": plain("ReduceSum", 7, constants=[[1, -2]]),
    "clip": plain("Clip", 84, constants=[-0.2, 0.3]),
    "clip, old": plain("Clip", 84, opset=9, min=-0.2),
    "pad": plain("Pad", 192, constants=[[0, 0, 1, 0, 0, 0, 1, 5], 0.7]),
    "pad, cutting": plain("Pad", 70, constants=[[0, 0, -1, 0, 0, 0, 0, 0]]),
    "pad, old": plain("Pad", 98, opset=9, pads=[0, 0, 1, 0, 0, 0, 0, 0], value=0.5),
    "pad, axes": plain("Pad", 96, opset=18, constants=[[0, 1], None, [-1]]),
    "slice": plain("Slice", 24, constants=[[1, -1], [6, -9], [2, 3], [2, -2]]),
    "slice, old": plain("Slice", 42, opset=9, starts=[0, 1], ends=[1, 100], axes=[0, 1]),
    "gather": plain("Gather", 36, constants=[[-1, 0, 2]], axis=3),
    "transpose": plain("Transpose", 84, perm=[0, 2, 3, 1]),
    "reshape with 0 and -1": plain("Reshape", 84, constants=[[0, 3, -1, 2]]),
    "flatten, axis 0": plain("Flatten", 84, axis=0),
    "flatten, axis from the end": plain("Flatten", 84, axis=-3),
    "unsqueeze": plain("Unsqueeze", 84, constants=[[1, -1]]),
    "expand": plain("Expand", 84, constants=[[1, 2, 1, 7]]),
}  # fmt: skip
