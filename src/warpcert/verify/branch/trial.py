"""Trial: cuts of cells, each tried before the best one is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from warpcert.core.clock import tick
from warpcert.core.interval import Interval
from warpcert.core.memory import chunk_size
from warpcert.core.rounding import NOTHING
from warpcert.core.shapes import Float, Int
from warpcert.flow import Threat
from warpcert.flow.split import Parts, cutting_point, split
from warpcert.verify.branch.cell import Cell
from warpcert.verify.branch.glance import Glance

STEEP = 3.0
"""How many times twofold the work on a cell grows with its gap, about: by how much one open part
weighs more than another. Measured: with 2 and with 8 trees are larger."""

OTHERS = 0.05
"""What the gaps of other margins than the worst count for."""

POOR = 1.2
"""A cut that saves less than this, in terms of what cutting in vain would, makes us look at all."""

LONGEST = 40.0
"""The logarithm of the most cells that are counted."""

NARROWEST = 2.0**-20
"""Boxes narrower than that, in pixels, are not cut."""


class Tried(NamedTuple):
    """The best cut of a cell: at a pixel (row, column), along an axis; what it should take.

    ``cells`` is how many cells there should be in the end when all cuts are as good as this one.
    ``order`` has the cuts that were tried, best first, for the parts of the cell.
    """

    pixel: tuple[int, int]
    axis: int
    cells: float
    order: Tensor


@dataclass(frozen=True, eq=False)
class Trial:
    """Cuts of an image's cells by what intervals say of both parts.

    A cut of pixel r along an axis halves its interval and confines its neighbours; which r is best
    depends on all layers, and differs by powers of ten in the cells that a proof needs: so each
    one is tried. The first ``tries`` of a parent's order are tried in its parts; all of them where
    these bring next to nothing. Pixels are ``stride`` apart: nearer ones hardly differ when gamma
    is small. Heuristics alone: whatever is cut where, the parts cover the cell.
    """

    threat: Threat
    glance: Glance
    tries: int

    def __call__(self, cells: Sequence[Cell], refined: bool) -> list[Tried]:
        """The best cut of each cell; ``refined``: their layers know more than intervals do."""
        return [self._try(cell, refined) for cell in cells]

    def cut(self, cell: Cell, tried: Tried) -> Parts:
        """The parts of a cell."""
        at = torch.tensor([tried.pixel], device=cell.lower.device)
        axes = torch.tensor([[tried.axis == 0, tried.axis == 1]], device=cell.lower.device)
        return split(self.threat, cell.lower[None], cell.upper[None], at, axes)

    def _try(self, cell: Cell, refined: bool) -> Tried:
        known = dict[int, Interval]()
        if refined:
            known = {
                k: Interval(x.lower.to(torch.float32), x.upper.to(torch.float32))
                for k, x in cell.layers.items()
            }
        lower, upper = (x.to(torch.float32) for x in (cell.lower, cell.upper))
        gap = float(_gaps(self.glance(lower[None], upper[None], known))) + NOTHING
        order, rest = self._candidates, self._candidates[:0]
        if cell.order is not None:
            order, rest = cell.order[: self.tries], cell.order[self.tries :]
        shares = self._shares(lower, upper, known, order) / gap
        prices = _prices(shares)
        if len(rest) and float(prices.min()) > POOR * 2.0**STEEP:
            order = cell.order if cell.order is not None else order
            rest = order[:0]
            shares = self._shares(lower, upper, known, order) / gap
            prices = _prices(shares)
        best = int(prices.argmin())
        ranked = torch.cat([order[prices.argsort()], rest])
        pixels = math.prod(lower.shape[:2])
        at, axis = int(order[best]) % pixels, int(order[best]) // pixels
        pixel = (at // lower.shape[1], at % lower.shape[1])
        return Tried(pixel, axis, _size(*shares[best].tolist()), ranked)

    @cached_property
    def _candidates(self) -> Int[Tensor, " K"]:
        """Pixels that may be cut, by number; those along y are numbered after those along x."""
        image = self.glance.image
        height, width = image.shape[2:]
        reach = self.threat.delta / (4 * self.threat.gamma) if self.threat.gamma > 0 else math.inf
        stride = int(max(1.0, min(reach, height // 3, width // 3)))
        rows = torch.arange(stride // 2, height, stride, device=image.device)
        columns = torch.arange(stride // 2, width, stride, device=image.device)
        every = (rows[:, None] * width + columns).flatten()
        if stride == 1:
            region = self.threat.region((height, width))
            ends = (x.expand(1, height, width, 2).to(image) for x in (region.lower, region.upper))
            box = self.glance.pixels(*ends)
            every = (box.lower < box.upper).any(1).flatten().nonzero().squeeze(1)
        return torch.cat([every, every + height * width])

    def _shares(
        self,
        lower: Float[Tensor, "H W 2"],
        upper: Float[Tensor, "H W 2"],
        known: dict[int, Interval],
        order: Int[Tensor, " K"],
    ) -> Float[Tensor, "K 2"]:
        """The gaps of both parts of every cut; inf where a pixel cannot be cut."""
        size = max(1, chunk_size(4 * 2 * self.glance.entries, lower.device))
        found = []
        for some in order.split(size):
            tick()
            first, second = self._halves(lower, upper, some)
            both = (torch.cat(x) for x in zip(first, second, strict=True))
            gaps = _gaps(self.glance(*both, known)).view(2, -1).T
            found.append(gaps)
        wide = (upper - lower).flatten(0, 1).T.flatten()[order] > NARROWEST
        return torch.where(wide[:, None], torch.cat(found), math.inf)

    def _halves(
        self, lower: Tensor, upper: Tensor, order: Tensor
    ) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """The boxes (K, H, W, 2) of both parts of cuts, as `confine` makes them, about."""
        height, width = lower.shape[:2]
        pixels = height * width
        at, axis = order % pixels, order // pixels
        rows = torch.arange(height, device=order.device)[None, :, None]
        columns = torch.arange(width, device=order.device)[None, None, :]
        steps = (rows - (at // width)[:, None, None]).abs()
        steps = steps + (columns - (at % width)[:, None, None]).abs()
        way = torch.where(steps > 0, self.threat.gamma * steps.clamp(min=1), 0.0)
        low, high = (x.flatten(0, 1)[at, axis] for x in (lower, upper))
        cut = cutting_point(low, high)[:, None, None]
        along = torch.nn.functional.one_hot(axis, 2).bool()[:, None, None]
        end = torch.where(along, (cut + way)[..., None], math.inf)
        begin = torch.where(along, (cut - way)[..., None], -math.inf)
        whole = lower.expand(len(order), -1, -1, -1), upper.expand(len(order), -1, -1, -1)
        below = torch.minimum(whole[1], torch.maximum(end, whole[0]))
        above = torch.maximum(whole[0], torch.minimum(begin, whole[1]))
        return (whole[0], below), (above, whole[1])


def _gaps(margins: Float[Tensor, "N S"]) -> Float[Tensor, " N"]:
    """How far cells are from being proved; 0 where they are."""
    missing = (-margins).clamp(min=0).nan_to_num(nan=math.inf)
    return missing.amax(1) + OTHERS * missing.sum(1)


def _prices(shares: Float[Tensor, "K 2"]) -> Float[Tensor, " K"]:
    """What is left to do after cuts, by the shares of a gap that their parts keep."""
    return torch.where(shares > 0, torch.exp2(STEEP * shares), 0.0).sum(1)


def _size(first: float, second: float) -> float:
    """How many cells close a gap when all cuts leave such shares of it.

    With N(gap) = exp(c gap), the cells of a cell are those of its parts: 1 is the sum of
    exp(c (share - 1)), which falls with c.
    """
    if not max(first, second) < 1:
        return math.inf
    low, high = 0.0, LONGEST
    for _ in range(30):
        middle = (low + high) / 2
        total = sum(math.exp(middle * (share - 1)) for share in (first, second))
        low, high = (middle, high) if total > 1 else (low, middle)
    return math.exp(high)
