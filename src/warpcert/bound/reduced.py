"""Reduced: a network on one input set, written in the neurons whose sign is open there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from warpcert.bound.backward import Walk
from warpcert.bound.known import Known
from warpcert.bound.substitution import WORKING_ARRAYS, largest
from warpcert.bound.weights import Weights
from warpcert.core import rounding
from warpcert.core.clock import tick
from warpcert.core.errors import Unsupported
from warpcert.core.memory import chunk_size
from warpcert.core.shapes import Bool, Float, Int
from warpcert.net import Activation, Hinge


@dataclass(frozen=True, eq=False)
class Block:
    """Values z = straight x + units u + constant, each within ``error``, at all members of the set.

    x are the pixels that move, u the hinges' values of earlier blocks, in order. ``size`` (n,) is
    |straight| |x| + |units| |u| + |constant|: rounding grows with it. ``entries`` (n,) are the
    flat places that z has in its layer, the input of the activation ``number``; for margins there
    is no activation, and the places are rows.
    """

    number: int
    node: Hinge | None
    entries: Int[Tensor, " n"]
    straight: Weights
    units: Float[Tensor, "n _"]
    constant: Float[Tensor, " n"]
    error: Float[Tensor, " n"]
    size: Float[Tensor, " n"]

    def __len__(self) -> int:
        return len(self.entries)

    def values(
        self, points: Float[Tensor, "N P"], units: Float[Tensor, "N _"]
    ) -> Float[Tensor, "N n"]:
        """z at points, with the hinges' values of earlier blocks there, up to ``error``."""
        return torch.addmm(self.straight.forth(points) + self.constant, units, self.units.T)

    @property
    def convex(self) -> bool:
        """Whether the hinge bends upwards, so that its slope below may be chosen."""
        return self.node is not None and self.node.sides[0] <= self.node.sides[1]


@dataclass(frozen=True, eq=False)
class Reduced:
    """Blocks of open neurons, first layers first, and the margins in terms of them.

    ``pixels`` are the flat places of the image's entries that move; ``low`` and ``high`` their
    box, which holds every member. ``lower`` and ``upper`` (U,) are proved for the inputs of all
    hinges, block after block.
    """

    shape: tuple[int, ...]
    blocks: tuple[Block, ...]
    margins: Block
    pixels: Int[Tensor, " P"]
    low: Float[Tensor, " P"]
    high: Float[Tensor, " P"]
    lower: Float[Tensor, " U"]
    upper: Float[Tensor, " U"]

    def __len__(self) -> int:
        """How many neurons are open."""
        return len(self.lower)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where each block is among all open neurons."""
        ends, start = [], 0
        for block in self.blocks:
            ends.append(slice(start, start + len(block)))
            start += len(block)
        return tuple(ends)

    @cached_property
    def convex(self) -> Bool[Tensor, " U"]:
        """Where a hinge's slope below may be chosen."""
        left, right = self.sides
        return left <= right

    @cached_property
    def sides(self) -> tuple[Float[Tensor, " U"], Float[Tensor, " U"]]:
        """The slopes of all hinges left and right of zero."""
        left, right = torch.empty_like(self.lower), torch.empty_like(self.lower)
        for block, place in zip(self.blocks, self.places, strict=True):
            assert block.node is not None
            left[place], right[place] = block.node.sides
        return left, right

    @cached_property
    def span(self) -> tuple[float, float]:
        """The least and the greatest slope of all hinges."""
        if not len(self):
            return 0.0, 1.0
        both = torch.stack(self.sides)
        return float(both.min()), float(both.max())

    @cached_property
    def magnitude(self) -> Float[Tensor, " U"]:
        """The largest |z| of every open neuron."""
        return torch.maximum(self.lower.abs(), self.upper.abs())

    @cached_property
    def single(self) -> Reduced:
        """The same in float32, for searches: nothing is proved with it."""

        def change(block: Block) -> Block:
            moved = (x.float() for x in (block.units, block.constant, block.error, block.size))
            return Block(block.number, block.node, block.entries, block.straight.float(), *moved)

        ends = (x.float() for x in (self.low, self.high, self.lower, self.upper))
        blocks = tuple(change(block) for block in self.blocks)
        return Reduced(self.shape, blocks, change(self.margins), self.pixels, *ends)

    def scores(self, points: Float[Tensor, "n P"]) -> Float[Tensor, "n S"]:
        """The margins at points, as far as the network is known there: for searches."""
        units = points[:, :0]
        for block in self.blocks:
            assert block.node is not None
            units = torch.cat([units, block.node(block.values(points, units))], dim=1)
        return self.margins.values(points, units)

    def ends_of(self, number: int) -> Reduced:
        """The same up to a block of n neurons, whose inputs z and -z (2 n,) stand for margins."""
        block, before = self.blocks[number], self.places[number].start

        def both(x: Tensor) -> Tensor:
            return torch.cat([x, x])

        entries = torch.arange(2 * len(block), device=block.entries.device)
        weights = Weights(torch.cat([block.straight.matrix, -block.straight.matrix]))
        units = torch.cat([block.units, -block.units])
        constant = torch.cat([block.constant, -block.constant])
        sizes = both(block.error), both(block.size)
        ends = Block(0, None, entries, weights, units, constant, *sizes)
        return replace(
            self,
            blocks=self.blocks[:number],
            margins=ends,
            lower=self.lower[:before],
            upper=self.upper[:before],
        )

    def with_bounds(self, number: int, lower: Tensor, upper: Tensor) -> Reduced:
        """The same with other bounds (n,) of a block's neurons, which must have been proved."""
        place = self.places[number]
        ends = self.lower.clone(), self.upper.clone()
        for end, part in zip(ends, (lower, upper), strict=True):
            end[place] = part
        return replace(self, lower=ends[0], upper=ends[1])

    def image(self, x: Float[Tensor, "n P"], whole: Float[Tensor, "..."]) -> Tensor:
        """Pixels that move put into an image (C, H, W), or into zeros like it: (n, C, H, W)."""
        flat = whole.to(x).flatten().expand(len(x), -1)
        return flat.index_copy(1, self.pixels, x).unflatten(1, self.shape)


def reduce(known: Known, rows: Float[Tensor, "1 S classes"]) -> Reduced:
    """Write a network's margins on one input set in the hinges that are open there.

    ``known`` holds one image. Sound, because a hinge whose sign is known is a line, exactly, so
    that what stands behind it is substituted without loss; rounding on the way is bounded by
    `Walk` and kept as every value's ``error``.
    """
    network = known.network
    if known.values[0].lower.shape[0] != 1:
        raise ValueError("one image at a time can be reduced")
    box = known.values[0]
    low, high = box.lower.flatten(), box.upper.flatten()
    moving = (low < high).nonzero().squeeze(1)
    wanted: list[tuple[int, Hinge, Tensor]] = []
    for number in network.activations:
        step = network.steps[number - 1]
        if not isinstance(step.node, Hinge):
            raise Unsupported(f"branching needs ReLUs and their like, got {_name(step.node)}")
        now = known.values[step.inputs[0]]
        open_ = step.node.bent(now.lower, now.upper).flatten().nonzero().squeeze(1)
        if len(open_):
            wanted.append((number, step.node, open_))
    units = {number: entries for number, _, entries in wanted}
    frame = _Frame(known, units, moving, low)
    blocks: list[Block] = []
    for number, node, entries in wanted:
        value = network.steps[number - 1].inputs[0]
        shape = network.shapes[value]
        basis = low.new_zeros((1, len(entries), math.prod(shape)))
        basis[0, torch.arange(len(entries), device=low.device), entries] = 1.0
        found = frame.write(basis.unflatten(2, shape), value, number)
        blocks.append(Block(number, node, entries, *found))
    found = frame.write(rows, len(network), len(network) + 1)
    margins = Block(0, None, torch.arange(rows.shape[1], device=low.device), *found)
    given = [known.values[network.steps[number - 1].inputs[0]] for number in units]
    each = list(zip(given, units.values(), strict=True))
    lower = torch.cat([low[:0], *(x.lower.flatten()[at] for x, at in each)])
    upper = torch.cat([low[:0], *(x.upper.flatten()[at] for x, at in each)])
    shape = network.input_shape
    return Reduced(shape, tuple(blocks), margins, moving, low[moving], high[moving], lower, upper)


class _Frame:
    """What rows are written in: pixels that move, and open hinges by activation."""

    def __init__(self, known: Known, units: dict[int, Tensor], moving: Tensor, low: Tensor) -> None:
        self.known, self.units, self.moving = known, units, moving
        self.fixed = torch.ones_like(low, dtype=torch.bool)
        self.fixed[moving] = False
        self.still = low[self.fixed]
        self.sizes = [known.values[0].magnitude.flatten()[moving]]
        self.sizes += [known.values[k].magnitude.flatten()[at] for k, at in units.items()]

    def write(
        self, rows: Tensor, value: int, before: int
    ) -> tuple[Weights, Tensor, Tensor, Tensor, Tensor]:
        """What a `Block` holds of rows of a value, by units before an activation."""
        size = chunk_size(8 * WORKING_ARRAYS * largest(self.known, value), rows.device)
        parts = [self._write(part, value, before) for part in rows.split(size, dim=1)]
        straight, units, constant, error, size_ = (torch.cat(x) for x in zip(*parts, strict=True))
        return Weights(straight), units, constant, error, size_

    def _write(self, rows: Tensor, value: int, before: int) -> tuple[Tensor, ...]:
        tick()
        walk = Walk(self.known, rows, value, intersect=False, careful=True)
        columns: dict[int, Tensor] = {}
        slack = rows.new_zeros(rows.shape[:2])
        for number in range(value, 0, -1):
            if number not in walk.waiting:
                continue
            if isinstance(self.known.network.steps[number - 1].node, Activation):
                a = walk.waiting[number].flatten(2)
                if number in self.units:
                    columns[number] = a[0][:, self.units[number]]
                    a = a.index_fill(2, self.units[number], 0.0)
                    walk.waiting[number] = a.view_as(walk.waiting[number])
                slack = slack + self._bend(number, a)
            walk.through(number, {})
        unit, floor = walk.rounding
        constant, error = walk.constant[0], (unit * walk.error + floor[:, None] + slack)[0]
        straight = walk.waiting.get(0)
        flat = rows.new_zeros((rows.shape[1], len(self.fixed)))
        if straight is not None:
            flat = straight[0].flatten(1)
        still = flat[:, self.fixed]
        constant = constant + still @ self.still
        lost = rounding.summation(still.shape[1] + 1)
        error = error + lost * (still.abs() @ self.still.abs() + constant.abs()) + rounding.FAINT
        earlier = [number for number in self.units if number < before]
        none = rows.new_zeros((rows.shape[1], 0))
        width = {k: len(self.units[k]) for k in earlier}
        made = [columns.get(k, none.new_zeros((rows.shape[1], width[k]))) for k in earlier]
        straight, units = flat[:, self.moving], torch.cat([none, *made], dim=1)
        sizes = torch.cat(self.sizes[: 1 + len(earlier)])
        size = torch.cat([straight, units], dim=1).abs() @ sizes + constant.abs()
        return straight, units, constant, error.nan_to_num(nan=torch.inf), size

    def _bend(self, number: int, rows: Tensor) -> Tensor:
        """By how much the two lines around decided hinges differ: nothing, or rounding."""
        band = self.known.bands[number]
        gap = (band.above.intercept - band.below.intercept).flatten(1)
        slopes = (band.above.slope - band.below.slope).flatten(1)
        closed = torch.ones_like(gap, dtype=torch.bool)
        if number in self.units:
            closed[:, self.units[number]] = False
        if bool((closed & (slopes != 0)).any()):
            raise Unsupported("a hinge of known sign has two slopes")
        gap = torch.where(closed, gap, 0.0)
        if not bool((gap != 0).any()):
            return rows.new_zeros(rows.shape[:2])
        return (rows.abs() * gap[:, None]).sum(2) * (1 + rounding.summation(gap.shape[1]))


def _name(node: object) -> str:
    return type(node).__name__
