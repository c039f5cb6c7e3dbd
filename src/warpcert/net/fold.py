"""fold: neighbouring affine nodes made into one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from warpcert.net.activation import Activation
from warpcert.net.affine import Affine
from warpcert.net.convolution import Convolution
from warpcert.net.linear import Linear
from warpcert.net.network import Network
from warpcert.net.pad import Pad
from warpcert.net.permute import Permute
from warpcert.net.reshape import Reshape
from warpcert.net.scale import Scale
from warpcert.net.step import Step

Rule = Callable[[Affine, Affine], Affine | None]


def fold(network: Network) -> Network:
    """The same function with fewer nodes.

    Two nodes become one only where the composition is again such a node, for every entry: a
    shift before a padded convolution stays, because the padding is not shifted. Numbers are
    multiplied in float64 (the network's own dtype), once.
    """
    steps = list(network.steps)
    number = 1
    while number <= len(steps):
        changed = _without(steps, number) or _joined(steps, number) or _sunk(steps, number)
        steps = changed or steps
        number = max(1, number - 2) if changed else number + 1
    return Network(network.input_shape, tuple(steps), network.dtype, network.device)


def _without(steps: list[Step], number: int) -> list[Step] | None:
    """Leave out a node that does nothing, unless it is the only one."""
    step = steps[number - 1]
    if len(steps) == 1 or not _does_nothing(step.node):
        return None
    (source,) = step.inputs
    if number == len(steps) and source != number - 1:
        return None  # the output must stay last
    return _removed(steps, number, source)


def _joined(steps: list[Step], number: int) -> list[Step] | None:
    """Join a step with the one before it in the graph, when nobody else uses that one."""
    step = steps[number - 1]
    before = _only_source(steps, step)
    if before is None:
        return None
    first = steps[before - 1]
    assert isinstance(first.node, Affine) and isinstance(step.node, Affine)
    for rule in RULES:
        node = rule(first.node, step.node)
        if node is not None:
            changed = list(steps)
            changed[number - 1] = replace(step, node=node, inputs=first.inputs)
            return _removed(changed, before, -1)
    return None


def _sunk(steps: list[Step], number: int) -> list[Step] | None:
    """Exchange a scale and the reshape after it when a matrix follows, which can take it in."""
    step = steps[number - 1]
    before = _only_source(steps, step)
    users = [k for k, other in enumerate(steps, 1) if number in other.inputs]
    if before is None or not isinstance(step.node, Reshape) or len(users) != 1:
        return None
    scale = steps[before - 1].node
    if not isinstance(scale, Scale) or not isinstance(steps[users[0] - 1].node, Linear):
        return None
    if len(step.shape) != 1:
        return None
    numbers = [
        None if n is None else n.expand(scale.shape).reshape(step.shape)
        for n in (scale.weight, scale.bias)
    ]
    assert numbers[0] is not None
    changed = list(steps)
    changed[before - 1] = replace(steps[before - 1], node=step.node, shape=step.shape)
    changed[number - 1] = replace(step, node=Scale(numbers[0], numbers[1], step.shape))
    return changed


def _only_source(steps: list[Step], step: Step) -> int | None:
    """The value a step uses, if it is one, made by an affine node of one input, for it alone."""
    if isinstance(step.node, Activation) or len(step.inputs) != 1 or step.inputs[0] == 0:
        return None
    (before,) = step.inputs
    uses = Counter(k for other in steps for k in other.inputs)
    first = steps[before - 1]
    alone = isinstance(first.node, Affine) and len(first.inputs) == 1 and uses[before] == 1
    return before if alone else None


def _removed(steps: list[Step], number: int, instead: int) -> list[Step]:
    """All steps but one; whoever used it uses another value instead."""
    renumbered = []
    for k, step in enumerate(steps, start=1):
        if k != number:
            inputs = (instead if i == number else i for i in step.inputs)
            renumbered.append(replace(step, inputs=tuple(i - (i > number) for i in inputs)))
    return renumbered


def _does_nothing(node: Affine | Activation) -> bool:
    match node:
        case Reshape():
            return node.input == node.output
        case Permute():
            return node.order == tuple(range(len(node.order)))
        case Scale():
            return node.bias is None and bool((node.weight == 1).all())
    return False


def _scale_scale(first: Affine, second: Affine) -> Affine | None:
    if not isinstance(first, Scale) or not isinstance(second, Scale):
        return None
    return Scale(
        first.weight * second.weight,
        _plus(None if first.bias is None else first.bias * second.weight, second.bias),
        first.input,
    )


def _convolution_scale(first: Affine, second: Affine) -> Affine | None:
    """Exact: the scale acts on each output channel, bias included."""
    if not isinstance(first, Convolution) or not isinstance(second, Scale):
        return None
    weight, bias = _per_channel(second.weight), _per_channel(second.bias)
    if weight is None or (bias is None and second.bias is not None):
        return None
    out = first.weight.shape[0]
    old = None if first.bias is None else first.bias * weight
    new = _plus(old, bias)
    return replace(
        first,
        weight=first.weight * weight.expand(out)[:, None, None, None],
        bias=None if new is None else new.expand(out),
    )


def _scale_convolution(first: Affine, second: Affine) -> Affine | None:
    """Exact without padding; with padding only if there is no shift, which zeros would lack."""
    if not isinstance(first, Scale) or not isinstance(second, Convolution):
        return None
    weight, bias = _per_channel(first.weight), _per_channel(first.bias)
    if weight is None or (first.bias is not None and (bias is None or any(second.padding))):
        return None
    channels, groups = first.input[0], second.groups
    out, per_group = second.weight.shape[:2]
    owner = torch.arange(out, device=second.weight.device) // (out // groups)
    member = owner[:, None] * per_group + torch.arange(per_group, device=owner.device)
    shift = None
    if bias is not None:
        shift = (second.weight.sum((2, 3)) * bias.expand(channels)[member]).sum(1)
    return replace(
        second,
        weight=second.weight * weight.expand(channels)[member][:, :, None, None],
        bias=_plus(second.bias, shift),
    )


def _linear_scale(first: Affine, second: Affine) -> Affine | None:
    if not isinstance(first, Linear) or not isinstance(second, Scale):
        return None
    weight, bias = _per_last(second.weight), _per_last(second.bias)
    if weight is None or (bias is None and second.bias is not None):
        return None
    out = first.weight.shape[0]
    new = _plus(None if first.bias is None else first.bias * weight, bias)
    return Linear(
        first.weight * weight.expand(out)[:, None],
        None if new is None else new.expand(out),
        first.input,
    )


def _scale_linear(first: Affine, second: Affine) -> Affine | None:
    if not isinstance(first, Scale) or not isinstance(second, Linear):
        return None
    weight, bias = _per_last(first.weight), _per_last(first.bias)
    if weight is None or (bias is None and first.bias is not None):
        return None
    size = second.weight.shape[1]
    shift = None if bias is None else second.weight @ bias.expand(size)
    return Linear(second.weight * weight, _plus(second.bias, shift), second.input)


def _linear_linear(first: Affine, second: Affine) -> Affine | None:
    """Two matrices in a row, unless their product is larger than both together."""
    if not isinstance(first, Linear) or not isinstance(second, Linear):
        return None
    size = second.weight.shape[0] * first.weight.shape[1]
    if size > first.weight.numel() + second.weight.numel():
        return None
    shift = None if first.bias is None else second.weight @ first.bias
    return Linear(second.weight @ first.weight, _plus(second.bias, shift), first.input)


def _pad_convolution(first: Affine, second: Affine) -> Affine | None:
    """A frame of zeros becomes the convolution's own padding."""
    if not isinstance(first, Pad) or not isinstance(second, Convolution):
        return None
    channels, (top, bottom), (left, right) = first.amounts
    if bool(first.value) or any(channels) or min(top, bottom, left, right) < 0:
        return None
    a, b, c, d = second.padding
    padding = (a + top, b + bottom, c + left, d + right)
    return replace(second, input=first.input, padding=padding)


def _reshape_reshape(first: Affine, second: Affine) -> Affine | None:
    if not isinstance(first, Reshape) or not isinstance(second, Reshape):
        return None
    return Reshape(first.input, second.output)


def _permute_permute(first: Affine, second: Affine) -> Affine | None:
    if not isinstance(first, Permute) or not isinstance(second, Permute):
        return None
    return Permute(tuple(first.order[axis] for axis in second.order), first.input)


RULES: tuple[Rule, ...] = (
    _scale_scale,
    _convolution_scale,
    _scale_convolution,
    _linear_scale,
    _scale_linear,
    _linear_linear,
    _pad_convolution,
    _reshape_reshape,
    _permute_permute,
)


def _per_channel(numbers: Tensor | None) -> Tensor | None:
    """Numbers (C, 1, 1) or (1, 1, 1) as (C,) or (1,); None where they vary inside a channel."""
    if numbers is None or numbers.dim() != 3 or numbers.shape[1:] != (1, 1):
        return None
    return numbers.reshape(-1)


def _per_last(numbers: Tensor | None) -> Tensor | None:
    """Numbers that vary along the last axis alone, as (n,) or (1,)."""
    if numbers is None or math.prod(numbers.shape[:-1]) != 1:
        return None
    return numbers.reshape(-1)


def _plus(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other
