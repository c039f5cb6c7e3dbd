"""Interval propagation that can be differentiated: `propagate` and `worst_logits`.

A layer's box is kept as a centre and a radius, and travels with the clean values of the same
images, because batch normalisation takes its statistics from those.
"""

from __future__ import annotations

from collections.abc import Callable
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


@dataclass(frozen=True, eq=False)
class Bundle:
    """Clean values, and boxes around them: ``points`` (2 B, ...) and ``radius`` (B, ...).

    The first half of the points are the clean values, the second the centres of the boxes: affine
    layers do the same to both, in one call.
    """

    points: Tensor
    radius: Tensor

    @classmethod
    def around(cls, clean: Tensor, lower: Tensor, upper: Tensor) -> Bundle:
        """The bundle of boxes ``[lower, upper]`` with the clean values, all (B, ...)."""
        return cls(torch.cat([clean, (upper + lower) / 2]), (upper - lower) / 2)

    @property
    def clean(self) -> Tensor:
        """The clean values, (B, ...)."""
        return self.points[: len(self.radius)]

    @property
    def centre(self) -> Tensor:
        """The centres of the boxes, (B, ...)."""
        return self.points[len(self.radius) :]

    @property
    def lower(self) -> Tensor:
        """The lower ends, (B, ...)."""
        return self.centre - self.radius

    @property
    def upper(self) -> Tensor:
        """The upper ends, (B, ...)."""
        return self.centre + self.radius


Note = Callable[[nn.Module, Bundle], None]
"""Hears of every layer and the bundle that goes into it."""


def quiet(_module: nn.Module, _bundle: Bundle) -> None:
    """Hears nothing."""


def worst_logits(
    module: nn.Sequential,
    images: Float[Tensor, "B C H W"],
    lower: Float[Tensor, "B C H W"],
    upper: Float[Tensor, "B C H W"],
    labels: Int[Tensor, "B"],
    note: Note = quiet,
) -> tuple[Float[Tensor, "B K"], Float[Tensor, "B K"]]:
    """The scores of clean images, and for each class j an upper bound of score j minus the label's.

    The bound holds for every image of the box, in real arithmetic: the last layer is merged with
    the differences of scores, so that one row gives each margin, and a row attains its bound
    over the box of the last hidden layer. The label's own column is 0. (Spreads are computed for
    all pairs of classes, since picking weights by label is slow to differentiate.)
    """
    last = module[-1]
    if not isinstance(last, nn.Linear):
        raise ValueError(f"the last layer must be Linear, got {type(last).__name__}")
    hidden = propagate(module[:-1], Bundle.around(images, lower, upper), note)
    scores, centre = last(hidden.points).chunk(2)
    classes = scores.shape[1]
    apart = (last.weight - last.weight[:, None]).abs().flatten(0, 1)  # label by label
    spread = F.linear(hidden.radius, apart).unflatten(1, (classes, classes))
    own = labels[:, None]
    spread = spread.gather(1, own[:, :, None].expand(-1, -1, classes)).squeeze(1)
    return scores, centre - centre.gather(1, own) + spread


@singledispatch
def propagate(module: nn.Module, bundle: Bundle, note: Note = quiet) -> Bundle:  # noqa: ARG001 - see below
    """The bundle after a layer: its box contains the layer's value on every point of the box."""
    raise Unsupported(f"no interval propagation through {type(module).__name__}")


@propagate.register
def _(module: nn.Sequential, bundle: Bundle, note: Note = quiet) -> Bundle:
    for part in module:
        note(part, bundle)
        bundle = propagate(part, bundle, note)
    return bundle


@propagate.register
def _(module: Normalise, bundle: Bundle, note: Note = quiet) -> Bundle:  # noqa: ARG001
    return Bundle(module(bundle.points), bundle.radius / module.std)


@propagate.register
def _(module: nn.Conv2d, bundle: Bundle, note: Note = quiet) -> Bundle:  # noqa: ARG001
    if module.padding_mode != "zeros" or isinstance(module.padding, str):
        raise Unsupported("interval propagation needs a convolution padded with zeros, by numbers")
    radius = F.conv2d(
        bundle.radius,
        module.weight.abs(),
        None,
        module.stride,
        module.padding,
        module.dilation,
        module.groups,
    )
    return Bundle(module(bundle.points), radius)


@propagate.register
def _(module: nn.Linear, bundle: Bundle, note: Note = quiet) -> Bundle:  # noqa: ARG001
    return Bundle(module(bundle.points), F.linear(bundle.radius, module.weight.abs()))


@propagate.register
def _(module: BatchNorm, bundle: Bundle, note: Note = quiet) -> Bundle:  # noqa: ARG001
    slope, shift = module.affine_map(bundle.clean)
    return Bundle(bundle.points * slope + shift, bundle.radius * slope.abs())


@propagate.register
def _(module: nn.Flatten, bundle: Bundle, note: Note = quiet) -> Bundle:  # noqa: ARG001
    return Bundle(module(bundle.points), module(bundle.radius))


@propagate.register
def _(module: nn.ReLU, bundle: Bundle, note: Note = quiet) -> Bundle:  # noqa: ARG001
    return Bundle.around(F.relu(bundle.clean), F.relu(bundle.lower), F.relu(bundle.upper))


@propagate.register
def _(module: Residual, bundle: Bundle, note: Note = quiet) -> Bundle:
    body, skip = propagate(module.body, bundle, note), propagate(module.skip, bundle, note)
    return Bundle(body.points + skip.points, body.radius + skip.radius)
