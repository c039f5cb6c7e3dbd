"""`python -m warpcert.train.export WEIGHTS ARCH DATASET OUT.onnx`: weights as an ONNX file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import singledispatchmethod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from warpcert.core import Unsupported
from warpcert.core.durable import write_whole
from warpcert.data import DATASETS
from warpcert.train.architecture import Shape, build
from warpcert.train.batchnorm import FLOOR, BatchNorm
from warpcert.train.normalise import Normalise
from warpcert.train.residual import Residual
from warpcert.train.weights import load_weights

_OPSET, _FORMAT = 17, 8


def export(module: nn.Module, input_shape: Shape, path: Path, *, half: bool = False) -> None:
    """Write a network in eval mode as float32 ONNX; a free batch axis, images (C, H, W).

    With ``half`` the weights of convolutions and linear layers are rounded to float16 and kept as
    such, each with a Cast to float32: half the size, and the network is the rounded one.
    """
    if module.training:
        raise ValueError("the module is in training mode: call module.eval() first")
    writer = _Writer(half)
    output = writer.write(module, "images")
    graph = helper.make_graph(
        writer.nodes,
        "network",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", *input_shape])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", None])],
        writer.constants,
    )
    opset = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=_FORMAT)
    onnx.checker.check_model(model, full_check=True)
    write_whole(path, model.SerializeToString())


class _Writer:
    """Collects nodes and constants; `write` adds a layer and names its output."""

    def __init__(self, half: bool) -> None:
        self.half = half
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def node(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name, **attributes))
        return name

    def constant(self, tensor: Tensor | None) -> list[str]:
        """The name of a constant; no name for None."""
        if tensor is None:
            return []
        name = f"constant_{len(self.constants)}"
        array = tensor.detach().cpu().float().contiguous().numpy()
        self.constants.append(numpy_helper.from_array(array, name))
        return [name]

    def weight(self, tensor: Tensor) -> str:
        """The name of a large constant."""
        if not self.half:
            return self.constant(tensor)[0]
        array = tensor.detach().cpu().to(torch.float16).contiguous().numpy()
        if not np.isfinite(array).all():
            raise ValueError("a weight is too large for float16: export without rounding")
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return self.node("Cast", [name], to=TensorProto.FLOAT)

    @singledispatchmethod
    def write(self, module: nn.Module, x: str) -> str:  # noqa: ARG002 - see below
        """Add the nodes of a layer applied to `x`; the name of what comes out."""
        raise Unsupported(f"no ONNX form of {type(module).__name__}")

    @write.register
    def _(self, module: nn.Sequential, x: str) -> str:
        for part in module:
            x = self.write(part, x)
        return x

    @write.register
    def _(self, module: Normalise, x: str) -> str:
        x = self.node("Sub", [x, *self.constant(module.mean)])
        return self.node("Div", [x, *self.constant(module.std)])

    @write.register
    def _(self, module: nn.Conv2d, x: str) -> str:
        if module.padding_mode != "zeros" or isinstance(module.padding, str):
            raise Unsupported("an exported convolution is padded with zeros, by numbers")
        return self.node(
            "Conv",
            [x, self.weight(module.weight), *self.constant(module.bias)],
            kernel_shape=list(module.kernel_size),
            strides=list(module.stride),
            pads=[*module.padding, *module.padding],
            dilations=list(module.dilation),
            group=module.groups,
        )

    @write.register
    def _(self, module: BatchNorm, x: str) -> str:
        tensors = module.weight, module.bias, module.running_mean, module.running_var
        inputs = [name for tensor in tensors for name in self.constant(tensor)]
        return self.node("BatchNormalization", [x, *inputs], epsilon=FLOOR)

    @write.register
    def _(self, module: nn.Linear, x: str) -> str:
        inputs = [x, self.weight(module.weight), *self.constant(module.bias)]
        return self.node("Gemm", inputs, transB=1)

    @write.register
    def _(self, module: nn.ReLU, x: str) -> str:  # noqa: ARG002 - it has no settings
        return self.node("Relu", [x])

    @write.register
    def _(self, module: nn.Flatten, x: str) -> str:
        return self.node("Flatten", [x], axis=module.start_dim)

    @write.register
    def _(self, module: Residual, x: str) -> str:
        return self.node("Add", [self.write(module.body, x), self.write(module.skip, x)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Read weights, write ONNX; 0, or 2 and one line after wrong use."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if len(words) != 4:
            raise ValueError("usage: python -m warpcert.train.export WEIGHTS ARCH DATASET OUT.onnx")
        weights, name, dataset, out = words
        if dataset not in DATASETS:
            names = ", ".join(DATASETS)
            raise ValueError(f"no data set is named {dataset!r}: use one of {names}")
        known = DATASETS[dataset]
        module = build(name, known.shape, len(known.classes))
        load_weights(module, Path(weights))
        export(module.eval(), known.shape, Path(out))
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{' '.join(str(error).split())}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
