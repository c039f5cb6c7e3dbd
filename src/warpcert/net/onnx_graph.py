"""OnnxGraph: the nodes of an ONNX file, walked once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, helper

from warpcert.net.builder import Builder, Value
from warpcert.net.onnx_constants import FOLDS
from warpcert.net.onnx_file import read_array
from warpcert.net.onnx_rules import RULES, Call
from warpcert.net.supported import Refused, unsupported

OLDEST = 7
"""Earlier operator sets broadcast differently."""


class OnnxGraph:
    """A parsed file: the shape of its input, and its nodes.

    Shapes are computed for a batch of 1; as every value keeps its batch first, the network made
    of it takes any batch.
    """

    def __init__(self, model: onnx.ModelProto, folder: Path) -> None:
        """Refuse what has not exactly one input and one output."""
        self.model, self.folder = model, folder
        self.opset = max((o.version for o in model.opset_import if o.domain in _OWN), default=0)
        if self.opset < OLDEST:
            raise ValueError(f"operator set {self.opset} is too old: at least {OLDEST} is needed")
        if model.graph.sparse_initializer:
            raise unsupported("sparse initializer", model.graph.name)
        stored = {tensor.name for tensor in model.graph.initializer}
        inputs = [entry for entry in model.graph.input if entry.name not in stored]
        if len(inputs) != 1 or len(model.graph.output) != 1:
            raise ValueError(
                "a network must have one input and one output, "
                f"got {len(inputs)} and {len(model.graph.output)}"
            )
        self.input = inputs[0]

    @property
    def sizes(self) -> list[int]:
        """The sizes of the input's axes but the batch; 0 where the file leaves one free."""
        return [max(0, dim.dim_value) for dim in self.input.type.tensor_type.shape.dim][1:]

    def build(self, builder: Builder, start: Value) -> Value:
        """Add the file's nodes, from the value that stands for its input to its output."""
        self.known: dict[str, Any] = {self.input.name: start}
        for tensor in self.model.graph.initializer:
            self.known[tensor.name] = read_array(tensor, self.folder)
        for node in self.model.graph.node:
            builder.name = node.name or (node.output[0] if node.output else "")
            results = self._visit(builder, node)
            for name, result in zip(node.output, results, strict=False):
                if name in self.known:
                    raise ValueError(f"value {name!r} is made twice: the graph is cyclic")
                self.known[name] = result
        output = self.known.get(self.model.graph.output[0].name)
        if not isinstance(output, Value):
            raise ValueError("the output does not depend on the input")
        return output

    def _visit(self, builder: Builder, node: onnx.NodeProto) -> tuple[Any, ...]:
        for name in node.input:
            if name and name not in self.known:
                raise ValueError(
                    f"node {builder.name!r} needs {name!r}, which no earlier node makes: "
                    "the graph is cyclic, unsorted or incomplete"
                )
        inputs = [self.known[name] if name else None for name in node.input]
        attributes = {a.name: self._attribute(a) for a in node.attribute}
        live = any(isinstance(x, Value) for x in inputs)
        if live and node.op_type in ("Shape", "Size"):
            assert isinstance(inputs[0], Value)
            inputs, live = [np.broadcast_to(np.float32(0), (1, *inputs[0].shape))], False
        table: dict[str, Any] = dict(RULES if live else FOLDS)
        rule = table.get(node.op_type) if node.domain in _OWN else None
        if rule is None:
            raise unsupported(node.op_type, builder.name, "" if live else "of constants")
        if not live:
            return (rule(inputs, attributes),)
        used = len([name for name in node.output if name])
        try:
            result = rule(Call(builder, inputs, attributes, used, self.opset))
        except Refused as refused:
            raise unsupported(node.op_type, builder.name, str(refused)) from None
        return result if isinstance(result, tuple) else (result,)

    def _attribute(self, attribute: onnx.AttributeProto) -> Any:
        if attribute.type == AttributeProto.TENSOR:
            return read_array(attribute.t, self.folder)
        return helper.get_attribute_value(attribute)


_OWN = ("", "ai.onnx")
