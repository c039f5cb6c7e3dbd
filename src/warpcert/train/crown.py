"""linear_reach: margins bounded by linear functions of the image, for CROWN-IBP.

From Zhang et al., "Towards Stable and Efficient Training of Verifiably Robust Neural Networks"
(2020): the layers' boxes come from interval propagation, only the margins are taken back through
the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from warpcert.core import Unsupported
from warpcert.core.shapes import Float, Int
from warpcert.train.batchnorm import BatchNorm
from warpcert.train.normalise import Normalise
from warpcert.train.residual import Residual
from warpcert.train.trace import Trace


@dataclass(frozen=True, eq=False)
class Form:
    """``<rows, x> + constant``: K functions of a layer's values x for each image.

    ``rows`` (B, K, ...), ``constant`` (B, K).
    """

    rows: Tensor
    constant: Tensor


def linear_reach(
    module: nn.Sequential,
    trace: Trace,
    labels: Int[Tensor, "B"],
) -> Float[Tensor, "B K"]:
    """For each class an upper bound of its score minus the label's, over the traced boxes.

    Sound: ``pull`` replaces each ReLU by a line that lies above its term on the layer's box, and
    an affine function takes its greatest value over a box at centre plus |row| times radius.
    """
    last = module[-1]
    if not isinstance(last, nn.Linear):
        raise ValueError(f"the last layer must be Linear, got {type(last).__name__}")
    rows = last.weight - F.embedding(labels, last.weight)[:, None]
    constant = rows.new_zeros(rows.shape[:2])
    if last.bias is not None:
        biases = last.bias.expand(len(labels), -1)
        constant = biases - biases.gather(1, labels[:, None])
    form = pull(module[:-1], Form(rows, constant), trace)
    image = trace[module[0]]
    rows = form.rows.flatten(2)
    reach = torch.einsum("bkf,bf->bk", rows, image.centre.flatten(1))
    return reach + torch.einsum("bkf,bf->bk", rows.abs(), image.radius.flatten(1)) + form.constant


@singledispatch
def pull(module: nn.Module, form: Form, trace: Trace) -> Form:  # noqa: ARG001 - see below
    """A form of a layer's input that is at least the given form of its output, over the box."""
    raise Unsupported(f"no linear bounds through {type(module).__name__}")


@pull.register
def _(module: nn.Sequential, form: Form, trace: Trace) -> Form:
    for part in reversed(module):
        form = pull(part, form, trace)
    return form


@pull.register
def _(module: Normalise, form: Form, trace: Trace) -> Form:  # noqa: ARG001
    return _scaled(form, 1 / module.std, -module.mean / module.std)


@pull.register
def _(module: BatchNorm, form: Form, trace: Trace) -> Form:
    return _scaled(form, *module.affine_map(trace[module].clean, moving=False))


@pull.register
def _(module: nn.Linear, form: Form, trace: Trace) -> Form:  # noqa: ARG001
    constant = form.constant if module.bias is None else form.constant + form.rows @ module.bias
    return Form(form.rows @ module.weight, constant)


@pull.register
def _(module: nn.Conv2d, form: Form, trace: Trace) -> Form:
    if module.padding_mode != "zeros" or isinstance(module.padding, str):
        raise Unsupported("linear bounds need a convolution padded with zeros, by numbers")
    before = trace[module].radius.shape
    sides = zip(
        before[2:], module.kernel_size, module.stride, module.padding, module.dilation, strict=True
    )
    left = [(n + 2 * p - d * (k - 1) - 1) % s for n, k, s, p, d in sides]  # never looked at
    rows = F.conv_transpose2d(
        form.rows.flatten(0, 1),
        module.weight,
        None,
        module.stride,
        module.padding,
        left,
        module.groups,
        module.dilation,
    )
    constant = form.constant
    if module.bias is not None:
        constant = constant + form.rows.sum((3, 4)) @ module.bias
    return Form(rows.view(*form.rows.shape[:2], *before[1:]), constant)


@pull.register
def _(module: nn.Flatten, form: Form, trace: Trace) -> Form:
    return Form(
        form.rows.view(*form.rows.shape[:2], *trace[module].radius.shape[1:]), form.constant
    )


@pull.register
def _(module: nn.ReLU, form: Form, trace: Trace) -> Form:
    """Above a positive term the chord lies, above a negative one the line of slope 0 or 1.

    The chord of a convex function lies above it on the box; it is ``u / (u - l) (z - l)`` with
    the parts of l above and u below zero cut off, which on boxes without zero in them gives the
    ReLU itself. Lines through 0 with a slope from 0 to 1 lie below it.
    """
    box = trace[module]
    above, below = box.upper.clamp(min=0), (-box.lower).clamp(min=0)
    width = above + below
    chord = (above / torch.where(width > 0, width, 1.0))[:, None]
    line = (above > below)[:, None].to(form.rows.dtype)
    shift = (form.rows.clamp(min=0) * chord * below[:, None]).flatten(2).sum(2)
    return Form(
        form.rows.clamp(min=0) * chord + form.rows.clamp(max=0) * line, form.constant + shift
    )


@pull.register
def _(module: Residual, form: Form, trace: Trace) -> Form:
    nothing = torch.zeros_like(form.constant)
    body, skip = pull(module.body, form, trace), pull(module.skip, Form(form.rows, nothing), trace)
    return Form(body.rows + skip.rows, body.constant + skip.constant)


def _scaled(form: Form, slope: Tensor, shift: Tensor) -> Form:
    """Through a layer that takes x to slope x + shift in each channel, both (C, 1, 1)."""
    constant = form.constant + (form.rows * shift).flatten(2).sum(2)
    return Form(form.rows * slope, constant)
