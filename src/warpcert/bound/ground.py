"""Ground: what reduced rows end at, the pixels of one input set that move."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from warpcert.bound.reduced import Reduced
from warpcert.core import rounding
from warpcert.core.box import Box
from warpcert.core.inputset import InputSet
from warpcert.core.memory import chunk_size
from warpcert.core.shapes import Float, Int

SET_ARRAYS = 64
"""Arrays of an image's size that a set needs to answer one row, about."""


class Lowest(NamedTuple):
    """Lower bounds (M,), points (M, P) where they are taken, and duals."""

    bound: Tensor
    point: Tensor
    duals: Tensor | None = None


class Proved(NamedTuple):
    """Sound lower bounds (M,) in float64, and the duals behind them."""

    bound: Tensor
    duals: Tensor | None = None


class Ground(ABC):
    """Lower bounds of <row, pixels that move> over the members of one set, for many rows."""

    @abstractmethod
    def search(
        self, rows: Float[Tensor, "M P"], duals: Tensor | None, steps: int | None = None
    ) -> Lowest:
        """About the minimum, in float32, and where it is taken; proves nothing."""

    @abstractmethod
    def prove(
        self, rows: Float[Tensor, "M P"], duals: Tensor | None, steps: int | None = 0
    ) -> Proved:
        """A sound lower bound, in float64."""

    @abstractmethod
    def members(self, points: Float[Tensor, "M P"], rows: Float[Tensor, "M P"]) -> Tensor:
        """Parameters of members near points at which rows were low, to try them."""


def ground(reduced: Reduced, inputs: InputSet, steps: int = 4) -> Ground:
    """The ground of one input set: its box where that is the set."""
    if inputs.boxed or isinstance(inputs, Box):
        return BoxGround(reduced)
    return SetGround(reduced, inputs, steps)


@dataclass(frozen=True, eq=False)
class BoxGround(Ground):
    """All values between two ends, each entry by itself."""

    reduced: Reduced

    def search(self, rows: Tensor, duals: Tensor | None, steps: int | None = None) -> Lowest:
        del duals, steps  # there is nothing to search for
        single = self.reduced.single
        low, high = single.low, single.high
        middle, radius = (low + high) / 2, (high - low) / 2
        bound = rows @ middle - rows.abs() @ radius
        return Lowest(bound, torch.where(rows > 0, low, high))

    def prove(self, rows: Tensor, duals: Tensor | None, steps: int | None = 0) -> Proved:
        """Take the lower end where a row is positive, the upper where it is negative.

        Sound, because each term of the sum is then least; its rounding is taken off.
        """
        del duals, steps
        low, high = self.reduced.low, self.reduced.high
        total = rows.clamp(min=0) @ low + rows.clamp(max=0) @ high
        size = rows.abs() @ torch.maximum(low.abs(), high.abs())
        lost = rounding.summation(2 * rows.shape[1] + 1) * size + rounding.FAINT
        return Proved(total - lost)

    def members(self, points: Tensor, rows: Tensor) -> Tensor:
        del rows  # the points are corners of the box
        return points


@dataclass(frozen=True, eq=False)
class SetGround(Ground):
    """An input set of one image, asked with rows on the rectangle where its members differ.

    The pixels at rest there have weight zero. Where a pixel that moves, if only by rounding, is
    outside of it, whole images are asked.
    """

    reduced: Reduced
    inputs: InputSet
    steps: int

    def search(self, rows: Tensor, duals: Tensor | None, steps: int | None = None) -> Lowest:
        spend = self.steps if steps is None else steps
        found = [self._ask(*part, spend) for part in self._parts(rows, duals)]
        bounds, points, after = zip(*found, strict=True)
        whole = None if after[0] is None else torch.cat(after)
        return Lowest(torch.cat(bounds), torch.cat(points), whole)

    def prove(self, rows: Tensor, duals: Tensor | None, steps: int | None = 0) -> Proved:
        if not len(rows):
            return Proved(rows.new_zeros(0))
        bounds, after = [], []
        for part, warm in self._parts(rows, duals):
            least = self._view.inputs.minimise(self._view.put(part), warm, steps)
            bounds.append(least.bound[0])
            after += [] if least.duals is None else [least.duals[0]]
        whole = torch.cat(after) if after else None
        return Proved(torch.cat(bounds), whole)

    def members(self, points: Tensor, rows: Tensor) -> Tensor:
        del points  # they are near the set, but not of it
        several = self.inputs.select(torch.zeros(len(rows), dtype=torch.int64, device=rows.device))
        whole = _View.whole(self.reduced, self.inputs)
        return several.minimiser(whole.put(rows)[0], self.steps)

    @cached_property
    def _view(self) -> _View:
        return _View.narrow(self.reduced, self.inputs)

    def _ask(
        self, rows: Tensor, duals: Tensor | None, steps: int
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        found = self._view.inputs.approach(self._view.put(rows), duals, steps)
        point = found.point[0].flatten(1)[:, self._view.places]
        return found.value[0], point, None if found.duals is None else found.duals[0]

    def _parts(self, rows: Tensor, duals: Tensor | None) -> list[tuple[Tensor, Tensor | None]]:
        size = chunk_size(8 * SET_ARRAYS * math.prod(self._view.shape), rows.device)
        if duals is None:
            return [(part, None) for part in rows.split(size)]
        both = zip(rows.split(size), duals.split(size), strict=True)
        return [(part, warm[None]) for part, warm in both]


class _View(NamedTuple):
    """An input set, the shape (C, h, w) of its images, and where the pixels that move are there."""

    inputs: InputSet
    shape: tuple[int, ...]
    places: Int[Tensor, " P"]

    @staticmethod
    def whole(reduced: Reduced, inputs: InputSet) -> _View:
        """Whole images."""
        return _View(inputs, reduced.shape, reduced.pixels)

    @staticmethod
    def narrow(reduced: Reduced, inputs: InputSet) -> _View:
        """What of them differs, if that holds all pixels that move."""
        some, part = inputs.narrow()
        if part is None:
            return _View.whole(reduced, inputs)
        channels = reduced.shape[0]
        numbers = torch.full(reduced.shape, -1, device=reduced.pixels.device)
        shape = (channels, part.height, part.width)
        rows, columns = (
            slice(part.top, part.top + part.height),
            slice(part.left, part.left + part.width),
        )
        numbers[:, rows, columns] = torch.arange(math.prod(shape), device=numbers.device).view(
            shape
        )
        places = numbers.flatten()[reduced.pixels]
        if bool((places < 0).any()):
            return _View.whole(reduced, inputs)
        return _View(some, shape, places)

    def put(self, rows: Float[Tensor, "M P"]) -> Float[Tensor, "1 M C h w"]:
        """Rows as images, hardly zero in two corners: duals then always are of one shape.

        What that adds to <row, image> is far below `rounding.FAINT`, which is paid for anyway.
        """
        flat = rows.new_zeros(len(rows), math.prod(self.shape)).index_copy_(1, self.places, rows)
        whole = flat.unflatten(1, self.shape)
        trace = rounding.TRACE if rows.dtype == torch.float64 else rounding.SINGLE_TRACE
        for corner in (whole[:, 0, 0, 0], whole[:, 0, -1, -1]):
            corner.copy_(torch.where(corner == 0, trace, corner))
        return whole[None]
