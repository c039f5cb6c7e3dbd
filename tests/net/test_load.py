"""load_network computes what onnxruntime computes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import pytest
import torch
from onnx import helper, numpy_helper
from torch import nn

from tests.contract.nodes import DOUBLE, assert_close
from tests.net import modules
from tests.net.graphs import GRAPHS, SHAPE, Graph
from warpcert.core import Unsupported
from warpcert.net import load_network

onnxruntime.set_default_logger_severity(3)


def run(path: Path, x: torch.Tensor) -> torch.Tensor:
    """onnxruntime's answer, one image at a time."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (name,) = [entry.name for entry in session.get_inputs()]
    return torch.from_numpy(np.concatenate([session.run(None, {name: y.numpy()})[0] for y in x]))


@pytest.mark.parametrize("name", GRAPHS)
def test_file_and_network_agree(name: str, tmp_path: Path) -> None:
    graph = GRAPHS[name]()
    path = graph.save(tmp_path / "graph.onnx")
    network = load_network(path)
    dtype = torch.float64 if graph.dtype == np.float64 else torch.float32
    x = torch.randn(4, 1, *SHAPE, dtype=dtype)
    assert network.input_shape == SHAPE and network.dtype == torch.float64
    scores = network(x[:, 0])
    assert_close(scores, run(path, x).double(), 1e-10 if dtype == torch.float64 else 1e-5)
    assert_close(scores[2:3], network(x[2]))


def export(module: nn.Module, path: Path) -> Path:
    example = torch.randn(1, *modules.SHAPE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this exporter is old: that is why it is tried
        torch.onnx.export(module, (example,), path, dynamo=False, opset_version=12)
    return path


@pytest.mark.parametrize(
    "name", ["convsmall", "residual", "clamps", "normalised", "branches", "max pooling"]
)
def test_exported_modules_agree_with_themselves(name: str, tmp_path: Path) -> None:
    module = modules.ready(name, torch.float32)
    path = export(module, tmp_path / "module.onnx")
    network = load_network(path)
    x = torch.randn(3, *modules.SHAPE)
    with torch.no_grad():
        assert_close(network(x).float(), module(x), 1e-5)
    assert_close(network(x).float(), run(path, x[:, None]), 1e-5)


def test_files_of_the_new_exporter(tmp_path: Path) -> None:
    """They keep their weights in a second file beside the first."""
    pytest.importorskip("onnxscript")
    module = modules.ready("convsmall", torch.float32)
    path = tmp_path / "module.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(module, (torch.randn(1, *modules.SHAPE),), dynamo=True)
        assert program is not None
        program.save(str(path), external_data=True)
    x = torch.randn(3, *modules.SHAPE)
    with torch.no_grad():
        assert_close(load_network(path)(x).float(), module(x), 1e-5)


# Normalisation and layout


def passing(shape: tuple[int, ...]) -> Graph:
    """A file that hands its input on, flat."""
    graph = Graph(shape)
    graph.add("Flatten", "x")
    return graph


def test_normalisation_comes_first(tmp_path: Path) -> None:
    path = passing((1, 2, 3, 3)).save(tmp_path / "g.onnx")
    x = torch.rand(2, 2, 3, 3, dtype=DOUBLE)
    mean, std = torch.tensor([0.2, 0.4], dtype=DOUBLE), torch.tensor([0.5, 0.25], dtype=DOUBLE)
    network = load_network(path, mean=mean.tolist(), std=std.tolist())
    assert_close(network(x), ((x - mean[:, None, None]) / std[:, None, None]).flatten(1))
    assert_close(load_network(path, mean=0.3)(x), (x - 0.3).flatten(1))
    assert_close(load_network(path, std=0.3)(x), (x / 0.3).flatten(1))


def test_channels_last(tmp_path: Path) -> None:
    path = passing((1, 4, 3, 2)).save(tmp_path / "g.onnx")
    network = load_network(path, layout="nhwc", mean=[0.1, 0.7])
    assert network.input_shape == (2, 4, 3)
    x = torch.rand(2, 2, 4, 3, dtype=DOUBLE)
    wanted = (x - torch.tensor([0.1, 0.7], dtype=DOUBLE)[:, None, None]).permute(0, 2, 3, 1)
    assert_close(network(x), wanted.flatten(1))


def test_flat_and_free_inputs_need_a_shape(tmp_path: Path) -> None:
    flat = passing((1, 12)).save(tmp_path / "flat.onnx")
    x = torch.rand(2, 3, 2, 2, dtype=DOUBLE)
    assert_close(load_network(flat, input_shape=(3, 2, 2))(x), x.flatten(1))
    with pytest.raises(ValueError, match=r"\(batch, 12\), not an image: give input_shape"):
        load_network(flat)
    with pytest.raises(ValueError, match="sizes differ"):
        load_network(flat, input_shape=(3, 2, 3))
    free = Graph(("n", 3, "h", "w"))
    free.add("Flatten", "x")
    path = free.save(tmp_path / "free.onnx")
    assert_close(load_network(path, input_shape=(3, 2, 2))(x), x.flatten(1))
    with pytest.raises(ValueError, match=r"\(batch, 3, \?, \?\), not an image"):
        load_network(path)


MISUSES: dict[str, tuple[dict[str, Any], str]] = {
    "layout": ({"layout": "nwhc"}, "layout must be one of nchw, nhwc, got 'nwhc'"),
    "mean": ({"mean": [1.0, 2.0, 3.0]}, "mean must be one number or one for each of 2 channels"),
    "std": ({"std": 0.0}, "std must be positive, got 0.0"),
    "nan": ({"std": float("nan")}, "std must be one number"),
    "shape": ({"input_shape": (2, 0, 7)}, r"input_shape must be \(C, H, W\)"),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse(name: str, tmp_path: Path) -> None:
    options, message = MISUSES[name]
    with pytest.raises(ValueError, match=message):
        load_network(passing((1, *SHAPE)).save(tmp_path / "g.onnx"), **options)


# What cannot be bounded


UNKNOWN: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "Softmax": ("Softmax", [], {}),
    "Erf": ("Erf", [], {}),
    "Transpose": ("Transpose", [], {"perm": [1, 0, 2, 3]}),
    "Flatten": ("Flatten", [], {"axis": 2}),
    "Reshape": ("Reshape", [[2, -1]], {}),
    "Squeeze": ("Squeeze", [], {}),
    "Concat": ("Concat", ["x"], {"axis": 0}),
    "Pad": ("Pad", [[0, 0, 1, 1, 0, 0, 1, 1]], {"mode": "reflect"}),
    "Gather": ("Gather", [[0]], {"axis": 0}),
    "ReduceMean": ("ReduceMean", [], {}),
    "Div": ("Div", ["x"], {}),
    "MatMul": ("MatMul", ["x"], {}),
    "Cast": ("Cast", [], {"to": 7}),
    "MaxPool": ("MaxPool", [], {"kernel_shape": [2]}),
    "Pow": ("Pow", [3.0], {}),
    "MaxPool on padding": ("MaxPool", [], {"kernel_shape": [1, 1], "pads": [1, 1, 1, 1]}),
    "AveragePool": ("AveragePool", [], {"kernel_shape": [1, 1], "strides": [4, 4], "ceil_mode": 1}),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_cannot_be_bounded_is_named(name: str, tmp_path: Path) -> None:
    op, constants, attributes = UNKNOWN[name]
    graph = Graph((1, 2, 6, 6))
    inputs = [c if isinstance(c, str) else g_constant(graph, c) for c in constants]
    graph.add(op, "x", *inputs, **attributes)
    path = graph.save(tmp_path / "g.onnx")
    with pytest.raises(Unsupported, match=rf"g\.onnx: operator {op} at node 'n0' .*; supported:"):
        load_network(path)


def g_constant(graph: Graph, value: Any) -> str:
    return graph.integers(*value) if isinstance(value, list) else graph.constant(value)


def test_a_final_softmax_comes_with_advice(tmp_path: Path) -> None:
    graph = GRAPHS["gemm"]()
    graph.add("Softmax", graph.nodes[-1].output[0])
    with pytest.raises(Unsupported, match="leave a final softmax out"):
        load_network(graph.save(tmp_path / "g.onnx"))


def test_another_domain_is_unsupported(tmp_path: Path) -> None:
    graph = Graph()
    graph.add("Relu", "x", domain="com.example")
    with pytest.raises(Unsupported, match="operator Relu"):
        load_network(graph.save(tmp_path / "g.onnx"))


def test_old_files_list_their_weights_as_inputs(tmp_path: Path) -> None:
    model = GRAPHS["gemm"]().model()
    for tensor in model.graph.initializer:
        entry = helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        model.graph.input.append(entry)
    path = tmp_path / "g.onnx"
    path.write_bytes(model.SerializeToString())
    x = torch.randn(2, 1, *SHAPE)
    assert_close(load_network(path)(x[:, 0]), run(path, x).double(), 1e-5)


def test_weights_are_exactly_those_of_the_file(tmp_path: Path) -> None:
    graph = GRAPHS["gemm"]()
    network = load_network(graph.save(tmp_path / "g.onnx"))
    stored = numpy_helper.to_array(graph.constants[0]).astype(np.float64).T
    (weight,) = [s.node.weight for s in network if hasattr(s.node, "weight")]
    assert np.array_equal(weight.numpy(), stored)
