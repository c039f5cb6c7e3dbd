"""capture: a torch module as a network."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from warpcert.net import aten
from warpcert.net.affine import Shape
from warpcert.net.builder import Builder, Value
from warpcert.net.network import Network
from warpcert.net.supported import Refused, unsupported

KEPT = (torch.ops.aten.linear.default, torch.ops.aten.matmul.default)
"""Operators that stay whole: taken apart, they would join the batch with other axes."""


BATCH = 13
"""Images in the example batch: a size that no other axis is likely to have."""


def capture(module: torch.nn.Module, input_shape: Sequence[int]) -> Network:
    """The network that a module in eval mode computes on images (C, H, W), node by node.

    The module is exported with a free batch axis and read as core ATen operators; what does
    not depend on the image is computed now. Nothing of the module is changed or shared.
    """
    _check(module, input_shape)
    program = _export(module, tuple(input_shape))
    return _Reader(program, tuple(input_shape)).network().to(_sample(module).device)


def _check(module: object, input_shape: object) -> None:
    if not isinstance(module, torch.nn.Module):
        raise ValueError(f"module must be a torch.nn.Module, got {type(module).__name__}")
    training = [name or "the module" for name, part in module.named_modules() if part.training]
    if training:
        raise ValueError(f"{training[0]} is in training mode: call module.eval() first")
    sizes = tuple(input_shape) if isinstance(input_shape, Sequence) else ()
    if len(sizes) != 3 or not all(isinstance(n, int) and n > 0 for n in sizes):
        raise ValueError(f"input_shape must be (C, H, W), got {input_shape!r}")


def _sample(module: torch.nn.Module) -> Tensor:
    """A tensor of the dtype and on the device of the module's first floating-point number."""
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.is_floating_point():
            return tensor.detach()
    return torch.zeros(())


def _export(module: torch.nn.Module, shape: Shape) -> torch.export.ExportedProgram:
    """The module's graph for a batch of any size.

    Code such as ``x.view(len(x), -1)`` fixes the size to that of the example; it is then read
    with a batch of `BATCH`, and every value whose first axis is not of that size is refused.
    """
    try:
        return _traced(module, shape, free=True)
    except Exception:  # whatever the module's own code, or torch, may raise
        try:
            return _traced(module, shape, free=False)
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ValueError(
                f"the module cannot be exported for images {shape} in batches of any size: "
                f"{reason[:300]}"
            ) from error


def _traced(module: torch.nn.Module, shape: Shape, free: bool) -> torch.export.ExportedProgram:
    like = _sample(module)
    images = torch.zeros(BATCH, *shape, dtype=like.dtype, device=like.device)
    axes = ({0: torch.export.Dim.DYNAMIC},) if free else None
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # torch's own, about its own insides
        program = torch.export.export(module, (images,), dynamic_shapes=axes, strict=False)
        return program.run_decompositions(dict(_decompositions()))


@cache
def _decompositions() -> dict[Any, Any]:
    """How operators are taken apart; looked up once, because that takes as long as an export."""
    table = dict(torch.export.default_decompositions().items())
    return {name: rule for name, rule in table.items() if name not in KEPT}


class _Reader:
    """Walks the exported graph; every fx node becomes a `Value`, a constant, or a tuple of them."""

    def __init__(self, program: torch.export.ExportedProgram, shape: Shape) -> None:
        self.program = program
        self.builder = Builder(shape)
        self.known: dict[torch.fx.Node, Any] = {}
        (self.batch, *_), *_ = [
            node.meta["val"].shape for node in program.graph.nodes if self._is_image(node)
        ]

    def network(self) -> Network:
        for node in self.program.graph.nodes:
            if node.op == "output":
                return self._finish(node)
            self.builder.name = node.name
            if node.op == "placeholder":
                self.known[node] = self._placeholder(node)
            elif node.op == "get_attr":
                self.known[node] = getattr(self.program.graph_module, str(node.target))
            elif node.users:
                self.known[node] = self._call(node)
        raise AssertionError("an exported graph has an output")

    def _is_image(self, node: torch.fx.Node) -> bool:
        return node.name in self.program.graph_signature.user_inputs

    def _placeholder(self, node: torch.fx.Node) -> Any:
        if self._is_image(node):
            return self.builder.input
        signature, program = self.program.graph_signature, self.program
        for names, store in (
            (signature.inputs_to_parameters, program.state_dict),
            (signature.inputs_to_buffers, {**program.constants, **program.state_dict}),
            (signature.inputs_to_lifted_tensor_constants, program.constants),
        ):
            if node.name in names:
                return store[names[node.name]].detach()
        raise unsupported("placeholder", node.name, "an input besides the image")

    def _call(self, node: torch.fx.Node) -> Any:
        args: Any = torch.fx.map_arg(node.args, self.known.__getitem__)
        kwargs: Any = torch.fx.map_arg(node.kwargs, self.known.__getitem__)
        if not _has(Value, (args, kwargs)):
            return self._constant(node, args, kwargs)
        if node.target is operator.getitem:
            return args[0][args[1]]
        if node.target is torch.ops.aten.sym_size.int:
            return node.meta["val"]
        name = str(node.target).removesuffix(".default")
        rule = aten.RULES.get(node.target)
        if rule is None:
            raise unsupported(name, node.name)
        try:
            return rule(aten.Call(self.builder, args, dict(kwargs), self._shape(node)))
        except Refused as refused:
            raise unsupported(name, node.name, str(refused)) from None

    def _constant(self, node: torch.fx.Node, args: Any, kwargs: Any) -> Any:
        """What does not depend on the image is computed, unless it depends on the batch."""
        if _has(torch.SymInt, (args, kwargs)) and isinstance(node.meta.get("val"), Tensor):
            raise unsupported(str(node.target), node.name, "its shape depends on the batch")
        assert callable(node.target)
        return node.target(*args, **kwargs)

    def _shape(self, node: torch.fx.Node) -> Shape | None:
        """The shape of one image's part of a node's value; None where the batch is not first."""
        value = node.meta["val"]
        if not isinstance(value, Tensor):
            return ()
        if value.dim() == 0 or not _same(value.shape[0], self.batch):
            return None
        return tuple(int(n) for n in value.shape[1:])

    def _finish(self, node: torch.fx.Node) -> Network:
        outputs: Any = torch.fx.map_arg(node.args[0], self.known.__getitem__)
        wanted = self.program.graph_signature.user_outputs
        if len(outputs) != 1 or len(wanted) != 1 or not isinstance(outputs[0], Value):
            raise ValueError("a module must give one tensor of scores that depends on the image")
        if len(outputs[0].shape) != 1:
            raise ValueError(f"a module must give scores (B, classes), got {outputs[0].shape}")
        return self.builder.network(outputs[0])


def _same(one: Any, other: Any) -> bool:
    """Whether two symbolic sizes are one, without guessing."""
    return type(one) is type(other) and str(one) == str(other)


def _has(kind: type, tree: Any) -> bool:
    if isinstance(tree, (tuple, list)):
        return any(_has(kind, part) for part in tree)
    if isinstance(tree, dict):
        return any(_has(kind, part) for part in tree.values())
    return isinstance(tree, kind)
