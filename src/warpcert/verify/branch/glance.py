"""Glance: interval margins of many cells at once, quickly; nothing is proved."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from warpcert.core.interval import Interval
from warpcert.core.shapes import Bool, Float
from warpcert.net import Activation, Affine, Hinge, Network

LINES = 5
"""Grid lines per axis at which pixels are looked at, at most."""


class Glance:
    """What intervals say of one image (1, C, H, W) on cells, in float32: for choices alone.

    Pixels are looked at where grid lines cross each other and the ends of their boxes. For norms 1
    and 2 that is more than they can be.
    """

    def __init__(
        self,
        network: Network,
        image: Float[Tensor, "1 C H W"],
        rows: Float[Tensor, "1 S classes"],
    ) -> None:
        self.network = network.to(dtype=torch.float32)
        self.image = image.to(torch.float32)
        self.parts, self.constant = _substituted(self.network, rows.to(torch.float32))

    @property
    def entries(self) -> int:
        """Float32 numbers that one cell takes, about."""
        return 4 * self.network.entries + 24 * self.image[0, 0].numel()

    def __call__(self, pixels: Interval, known: Mapping[int, Interval]) -> Float[Tensor, "N S"]:
        """The margins' lower ends where pixels (N, C, H, W) are in intervals.

        ``known`` are inner intervals (N, ...) that hold there, by value.
        """
        values = [pixels]
        for number, step in enumerate(self.network.steps, start=1):
            given = [values[k] for k in step.inputs]
            if isinstance(step.node, Activation):
                now = _activated(step.node, given[0])
            else:
                now = _spread(step.node, given)
            if number in known:
                old = known[number]
                low, high = torch.maximum(now.lower, old.lower), torch.minimum(now.upper, old.upper)
                now = Interval(torch.minimum(low, high), torch.maximum(low, high))
            values.append(now)
        total = self.constant
        for value, (up, down) in self.parts.items():
            now = values[value]
            total = total + now.lower.flatten(1) @ up + now.upper.flatten(1) @ down
        return total

    def pixels(self, lower: Float[Tensor, "N H W 2"], upper: Float[Tensor, "N H W 2"]) -> Interval:
        """The least and the greatest value (N, C, H, W) of every pixel on its box."""
        at = torch.arange(math.prod(lower.shape[1:3]), device=lower.device).expand(len(lower), -1)
        found = self._ends(at, lower.flatten(1, 2), upper.flatten(1, 2))
        shape = (-1, len(lower), *lower.shape[1:3])
        return Interval(*(x.view(shape).transpose(0, 1).contiguous() for x in found))

    def changed(
        self, before: Interval, moved: Bool[Tensor, "N H W"], lower: Tensor, upper: Tensor
    ) -> Interval:
        """Values (N, C, H, W) as they were before, but where boxes (N, H, W, 2) are others."""
        cell, at = moved.flatten(1).nonzero(as_tuple=True)
        here = (cell, at)
        found = self._ends(at, lower.flatten(1, 2)[here], upper.flatten(1, 2)[here])
        low, high = (x.flatten(2).clone() for x in (before.lower, before.upper))
        low[cell, :, at], high[cell, :, at] = (x.T for x in found)
        return Interval(low.view_as(before.lower), high.view_as(before.upper))

    def _ends(self, at: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        """The least and greatest values (C, ...) of pixels, by number (...), on boxes (..., 2)."""
        height, width = self.image.shape[2:]
        flat = self.image[0].flatten(1)
        columns, rows = (_stops(lower[..., axis], upper[..., axis]) for axis in (0, 1))
        low = torch.full((len(flat), *at.shape), math.inf, device=at.device)
        high = -low
        for x in columns:
            left, right, s = _between(x + at % width, width)
            for y in rows:
                top, bottom, t = _between(y + at // width, height)
                above = torch.lerp(flat[:, top * width + left], flat[:, top * width + right], s)
                below = torch.lerp(
                    flat[:, bottom * width + left], flat[:, bottom * width + right], s
                )
                value = torch.lerp(above, below, t)
                low, high = torch.minimum(low, value), torch.maximum(high, value)
        return low, high


def _between(place: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """The grid coordinates on both sides of places, clamped to the image, and the fraction."""
    inside = place.clamp(0, length - 1)
    first = inside.floor()
    number = first.long()
    return number, (number + 1).clamp(max=length - 1), inside - first


def _stops(low: Tensor, high: Tensor) -> list[Tensor]:
    """The ends of intervals and some of the integers in between."""
    if not low.numel():
        return [low]
    first, last = math.floor(float(low.min())) + 1, math.ceil(float(high.max())) - 1
    lines = list(range(first, last + 1))
    if len(lines) > LINES:
        lines = [first + k * (last - first) // (LINES - 1) for k in range(LINES)]
    return [low, *(torch.clamp(torch.full_like(low, x), low, high) for x in lines), high]


def _activated(node: Activation, given: Interval) -> Interval:
    """An activation's image of an interval; a hinge that does not turn is looked at quickly."""
    if isinstance(node, Hinge) and min(node.sides) >= 0:
        return Interval(node(given.lower), node(given.upper))
    return Interval(*node.image(given.lower, given.upper))


def _spread(node: Affine, given: list[Interval]) -> Interval:
    """The interval of an affine step's output, its rounding not looked at.

    A GPU's convolutions may make less than nothing of a radius of zero.
    """
    centre = node(*((x.lower + x.upper) / 2 for x in given))
    radius = node.spread(*((x.upper - x.lower) / 2 for x in given)).clamp(min=0)
    return Interval(centre - radius, centre + radius)


def _substituted(
    network: Network, rows: Float[Tensor, "1 S classes"]
) -> tuple[dict[int, tuple[Tensor, Tensor]], Float[Tensor, " S"]]:
    """Rows of the scores in terms of what stands before the last affine steps.

    By value the positive and the negative weights (n, S) of its flat entries, and a constant.
    """
    waiting, constant = {len(network): rows}, rows.new_zeros(rows.shape[1])
    for number in range(len(network), 0, -1):
        step = network.steps[number - 1]
        if number not in waiting or not isinstance(step.node, Affine):
            continue
        row = waiting.pop(number)
        if step.node.offset is not None:
            constant = constant + (row * step.node.offset)[0].flatten(1).sum(1)
        for k, part in zip(step.inputs, step.node.adjoint(row), strict=True):
            waiting[k] = waiting[k] + part if k in waiting else part
    flat = {k: row[0].flatten(1).T for k, row in waiting.items()}
    return {k: (row.clamp(min=0), row.clamp(max=0)) for k, row in flat.items()}, constant
