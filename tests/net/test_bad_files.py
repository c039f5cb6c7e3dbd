"""Files that are broken or mean harm give one clear line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from tests.net.graphs import GRAPHS, Graph
from warpcert.core import Unsupported
from warpcert.net import load_network

WHOLE = GRAPHS["residual"]().model().SerializeToString()


def refuse(path: Path, match: str) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        load_network(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)


def written(folder: Path, data: bytes) -> Path:
    path = folder / "net.onnx"
    path.write_bytes(data)
    return path


def test_missing_file(tmp_path: Path) -> None:
    refuse(tmp_path / "none.onnx", "there is no file")
    refuse(tmp_path, "there is no file")


@pytest.mark.parametrize(
    "data", [b"", b"hello, this is text\n" * 9, b"\x80\x02}q\x00.", b"\x00" * 64, b"PK\x03\x04"]
)
def test_other_files(data: bytes, tmp_path: Path) -> None:
    refuse(written(tmp_path, data), "is not an ONNX file")


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    path.chmod(0)
    refuse(path, "cannot be read")


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7, 0.9, 0.99])
def test_truncated_file(share: float, tmp_path: Path) -> None:
    refuse(written(tmp_path, WHOLE[: int(share * len(WHOLE))]), "net.onnx")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, len(WHOLE) - 1), byte=st.integers(0, 255))
def test_a_wrong_byte_is_noticed_or_harmless(place: int, byte: int, tmp_path: Path) -> None:
    data = bytearray(WHOLE)
    data[place] = byte
    try:
        load_network(written(tmp_path, bytes(data)))
    except (ValueError, Unsupported) as error:
        assert "\n" not in str(error)  # noqa: PT017


def two_nodes(first: list[str], second: list[str]) -> onnx.ModelProto:
    nodes = [helper.make_node("Add", first, ["a"]), helper.make_node("Relu", second, ["b"])]
    graph = Graph()
    graph.nodes = nodes
    return graph.model("b")


def cyclic() -> onnx.ModelProto:
    return two_nodes(["x", "b"], ["a"])


def made_twice() -> onnx.ModelProto:
    model = two_nodes(["x", "x"], ["a"])
    model.graph.node[1].output[0] = "a"
    return model


def dangling() -> onnx.ModelProto:
    return two_nodes(["x", "x"], ["nowhere"])


def huge_input() -> onnx.ModelProto:
    graph = Graph((1, 3, 1 << 20, 1 << 20))
    graph.add("Flatten", "x")
    return graph.model()


def huge_weight() -> onnx.ModelProto:
    graph = GRAPHS["gemm"]()
    model = graph.model()
    model.graph.initializer[0].dims[0] = 1 << 60
    return model


def negative_weight() -> onnx.ModelProto:
    model = GRAPHS["gemm"]().model()
    model.graph.initializer[0].dims[0] = -84
    return model


def huge_constant() -> onnx.ModelProto:
    graph = Graph()
    filled = graph.add("ConstantOfShape", graph.integers(1 << 40))
    graph.add("Flatten", graph.add("Add", "x", filled))
    return graph.model()


def huge_padding() -> onnx.ModelProto:
    graph = Graph()
    graph.add("Flatten", graph.add("Pad", "x", graph.integers(0, 0, 0, 1 << 40, 0, 0, 0, 0)))
    return graph.model()


def huge_range() -> onnx.ModelProto:
    graph = Graph()
    ends = [graph.constant(n, np.int64) for n in (0, 1 << 50, 1)]
    graph.add("Add", "x", graph.add("Range", *ends))
    return graph.model()


def huge_expansion() -> onnx.ModelProto:
    graph = Graph()
    column = graph.add("ReduceMean", "x", axes=[3])
    graph.add("Flatten", graph.add("Expand", column, graph.integers(1, 2, 6, 1 << 40)))
    return graph.model()


def huge_window() -> onnx.ModelProto:
    graph = Graph()
    size = 1 << 40
    graph.add("MaxPool", "x", kernel_shape=[size, size], pads=[size] * 4)
    return graph.model()


def infinite_weight() -> onnx.ModelProto:
    graph = Graph()
    graph.head(graph.add("Mul", "x", graph.constant(np.inf)), 84)
    return graph.model()


def wrong_sizes() -> onnx.ModelProto:
    graph = Graph()
    graph.head("x", 85)
    return graph.model()


def missing_attribute() -> onnx.ModelProto:
    graph = Graph()
    graph.add("Concat", "x", "x")
    return graph.model()


def missing_input() -> onnx.ModelProto:
    graph = Graph()
    graph.add("Conv", "x")
    return graph.model()


def too_old() -> onnx.ModelProto:
    model = GRAPHS["gemm"]().model()
    model.opset_import[0].version = 6
    return model


def two_inputs() -> onnx.ModelProto:
    model = GRAPHS["gemm"]().model()
    model.graph.input.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [1]))
    return model


def constant_output() -> onnx.ModelProto:
    graph = Graph()
    graph.add("Relu", "x")
    return graph.model(graph.add("Identity", graph.numbers(1, 3)))


def image_output() -> onnx.ModelProto:
    graph = Graph()
    graph.add("Relu", "x")
    return graph.model()


BROKEN: dict[Callable[[], onnx.ModelProto], str] = {
    cyclic: "needs 'b', which no earlier node makes: the graph is cyclic",
    made_twice: "'a' is made twice",
    dangling: "needs 'nowhere'",
    huge_input: "too large",
    huge_weight: "net.onnx",
    negative_weight: "has the shape",
    huge_constant: "too large",
    huge_padding: "too large",
    huge_range: "too long",
    huge_expansion: "too large",
    huge_window: "too large",
    infinite_weight: "NaN or infinite",
    wrong_sizes: "does not fit",
    missing_attribute: "not a valid ONNX network",
    missing_input: "input 1 is missing",
    too_old: "operator set 6 is too old",
    two_inputs: "one input and one output, got 2 and 1",
    constant_output: "does not depend on the input",
    image_output: r"output must be \(classes,\)",
}


@pytest.mark.parametrize("make", BROKEN)
def test_broken_graphs(make: Callable[[], onnx.ModelProto], tmp_path: Path) -> None:
    refuse(written(tmp_path, make().SerializeToString()), BROKEN[make])


def with_data_beside(folder: Path, location: str, **entries: int) -> Path:
    graph = GRAPHS["gemm"]()
    model = graph.model()
    tensor = model.graph.initializer[0]
    data = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    (folder / "weights.bin").write_bytes(b"1234" + data)
    return written(folder, model.SerializeToString())


def test_weights_beside_the_file_are_read(tmp_path: Path) -> None:
    path = with_data_beside(tmp_path, "weights.bin", offset=4)
    stored = numpy_helper.to_array(GRAPHS["gemm"]().constants[0]).astype(np.float64).T
    (weight,) = [s.node.weight for s in load_network(path) if hasattr(s.node, "weight")]
    assert np.array_equal(weight.numpy(), stored)


def test_weights_elsewhere_are_not(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    with_data_beside(tmp_path, "weights.bin", offset=4)
    for location in ("../weights.bin", str(tmp_path / "weights.bin"), "none.bin", "."):
        refuse(with_data_beside(inner, location, offset=4), "is not in the file's folder")
    (inner / "link.bin").symlink_to(tmp_path / "weights.bin")
    refuse(with_data_beside(inner, "link.bin", offset=4), "is not in the file's folder")


@pytest.mark.parametrize("entries", [{"offset": 5}, {"offset": -1}, {"offset": 4, "length": 7}])
def test_truncated_weights_beside_the_file(entries: dict[str, int], tmp_path: Path) -> None:
    refuse(with_data_beside(tmp_path, "weights.bin", **entries), "is truncated")
