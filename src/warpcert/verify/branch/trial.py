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
from warpcert.core.rounding import FINEST, NOTHING
from warpcert.core.shapes import Float, Int
from warpcert.flow import Threat
from warpcert.flow.split import Parts, cutting_point, split
from warpcert.verify.branch.cell import Cell, stack
from warpcert.verify.branch.glance import Glance

STEEP = 3.0
"""How many times twofold the work on a cell grows with its gap, about: by how much one open part
weighs more than another. Measured: with 2 and with 8 trees are larger."""

OTHERS = 0.05
"""What the gaps of other margins than the worst count for."""

POOR = 1.2
"""A cut that saves less than this, in terms of what cutting in vain would, makes us look at all."""

WIDER = 8
"""How many times more cuts are tried where the first ones bring next to nothing."""

APART = 4.0
"""Pixels are at first so far apart that gamma leaves delta over this between them, about."""

LONGEST = 40.0
"""The logarithm of the most cells that are counted."""


class Tried(NamedTuple):
    """The best cut of a cell: at a pixel (row, column), along an axis; what it should take.

    ``cells`` is how many cells there should be in the end when all cuts are as good as this one.
    ``order`` has the cuts that were tried, best first, for the parts of the cell.
    """

    pixel: tuple[int, int]
    axis: int
    cells: float
    order: Tensor


class _Cells(NamedTuple):
    """Boxes (n, H, W, 2) of cells, their pixels (n, C, H, W), and inner intervals by value."""

    lower: Tensor
    upper: Tensor
    pixels: Interval
    known: dict[int, Interval]


@dataclass(frozen=True, eq=False)
class Trial:
    """Cuts of an image's cells by what intervals say of both parts.

    A cut of pixel r along an axis halves its interval and confines its neighbours; which r is best
    depends on all layers, and differs by powers of ten in the cells that a proof needs: so each one
    is tried. The first ``tries`` of a parent's order are tried in its parts; many more where these
    bring next to nothing, of the whole threat all, and if none brings more, also two cuts in a row:
    the first one may part nothing that the second one parts. Pixels far apart come first, at the
    distance at which they differ for this gamma. Heuristics alone: whatever is cut where, the parts
    cover the cell.
    """

    threat: Threat
    glance: Glance
    tries: int

    def __call__(self, cells: Sequence[Cell], refined: bool) -> list[Tried]:
        """The best cut of each cell; ``refined``: their layers know more than intervals do."""
        lower = torch.stack([cell.lower for cell in cells]).to(torch.float32)
        upper = torch.stack([cell.upper for cell in cells]).to(torch.float32)
        known = stack(cells).layers if refined else {}
        single = {k: Interval(x.lower.float(), x.upper.float()) for k, x in known.items()}
        whole = _Cells(lower, upper, self.glance.pixels(lower, upper), single)
        gaps = _gaps(self.glance(whole.pixels, single)) + NOTHING
        first, candidates = self._candidates
        orders = [candidates if cell.order is None else cell.order for cell in cells]
        order, first_cut = torch.stack(orders), any(cell.order is None for cell in cells)
        most = len(candidates) if first_cut else min(len(candidates), WIDER * self.tries)
        tries = min(most, first if first_cut else self.tries)
        which = torch.arange(len(cells), device=order.device)
        shares = torch.full((len(cells), len(candidates), 2), math.inf, device=order.device)
        shares[:, :tries] = self._gaps_after(whole, which, order[:, :tries])
        again = _poor(_prices(shares / gaps[:, None, None]))
        if tries < most and len(again):
            shares[again, tries:most] = self._gaps_after(whole, again, order[again, tries:most])
        shares = shares / gaps[:, None, None]
        prices = _prices(shares)
        again = _poor(prices)
        if len(again):
            ahead = self._gaps_after(whole, again, order[again, :most], twice=True)
            after = _prices(ahead / gaps[again, None, None])
            each = torch.sqrt(after * 2.0**STEEP)  # of two cuts alike that lead there
            prices[again, :most] = torch.minimum(prices[again, :most], each)
        ranks = prices.argsort(dim=1, stable=True)
        order, best = order.gather(1, ranks), shares[which, ranks[:, 0]].tolist()
        return [
            self._tried(int(first), two, row)
            for first, two, row in zip(order[:, 0].tolist(), best, order, strict=True)
        ]

    def _tried(self, cut: int, shares: list[float], order: Tensor) -> Tried:
        height, width = self.glance.image.shape[2:]
        axis, at = divmod(cut, height * width)
        return Tried((at // width, at % width), axis, _size(*shares), order)

    def cut(self, cells: Sequence[Cell], tried: Sequence[Tried]) -> Parts:
        """The parts of cells, each cut as it is best."""
        device = cells[0].lower.device
        at = torch.tensor([best.pixel for best in tried], device=device)
        axes = torch.tensor([[best.axis == 0, best.axis == 1] for best in tried], device=device)
        lower, upper = (
            torch.stack([getattr(x, name) for x in cells]) for name in ("lower", "upper")
        )
        return split(self.threat, lower, upper, at, axes)

    @cached_property
    def _candidates(self) -> tuple[int, Int[Tensor, " K"]]:
        """Cuts by number, pixels far apart first, and how many of them to try at first.

        Pixels are numbered row by row; those along y come after all of those along x.
        """
        image = self.glance.image
        height, width = image.shape[2:]
        region = self.threat.region((height, width))
        ends = (x.expand(1, height, width, 2).to(image) for x in (region.lower, region.upper))
        box = self.glance.pixels(*ends)
        free = (box.lower < box.upper).any(1).flatten()
        reach = self.threat.delta / (APART * self.threat.gamma) if self.threat.gamma else math.inf
        stride = 1
        while 2 * stride <= min(reach, height / 3, width / 3):
            stride *= 2
        rows = torch.arange(height, device=image.device)[:, None]
        columns = torch.arange(width, device=image.device)[None]
        levels = torch.zeros((height, width), dtype=torch.int64, device=image.device)
        step = stride
        while step >= 1:  # a pixel's level is the coarsest grid that it is on
            at = (rows % step == step // 2) & (columns % step == step // 2)
            levels = torch.where(at & (levels == 0), step, levels)
            step //= 2
        levels = levels.flatten()
        coarse = (levels == stride) & (stride > 1)  # one that cannot change may confine others
        levels = torch.where(coarse | free, levels, 0)
        order = torch.argsort(levels, descending=True, stable=True)[: int((levels > 0).sum())]
        both = torch.stack([order, order + height * width], dim=1).flatten()
        return 2 * int((levels == stride).sum()), both

    def _gaps_after(
        self,
        cells: _Cells,
        which: Int[Tensor, " n"],
        order: Int[Tensor, "n K"],
        twice: bool = False,
    ) -> Float[Tensor, "n K parts"]:
        """The gaps of both parts of every cut of some cells; inf where a pixel cannot be cut.

        ``twice``: of the four parts when both are cut again at the same pixel.
        """
        parents, cuts = which.repeat_interleave(order.shape[1]), order.flatten()
        size = chunk_size(4 * 2 * self.glance.entries, order.device)
        found = []
        for cell, cut in zip(parents.split(size), cuts.split(size), strict=True):
            tick()
            lower, upper = cells.lower[cell], cells.upper[cell]
            made = self._halves(lower, upper, cut)
            if twice:
                made = [part for half in made for part in self._halves(*half, cut)]
            count = len(made)
            halves = (torch.cat(x) for x in zip(*made, strict=True))
            gaps = _gaps(self._look(cells, cell.repeat(count), *halves))
            wide = (upper - lower).flatten(1, 2).transpose(1, 2).flatten(1)
            enough = wide.gather(1, cut[:, None]) > FINEST * self.threat.delta
            found.append(torch.where(enough, gaps.view(count, -1).T, math.inf))
        return torch.cat(found).view(*order.shape, -1)

    def _look(self, cells: _Cells, parents: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
        """The margins of parts of cells."""
        before = Interval(cells.pixels.lower[parents], cells.pixels.upper[parents])
        moved = (lower != cells.lower[parents]) | (upper != cells.upper[parents])
        alive = (before.lower < before.upper).any(1)
        pixels = self.glance.changed(before, moved.any(-1) & alive, lower, upper)
        known = {k: Interval(x.lower[parents], x.upper[parents]) for k, x in cells.known.items()}
        return self.glance(pixels, known)

    def _halves(
        self, lower: Float[Tensor, "K H W 2"], upper: Float[Tensor, "K H W 2"], cuts: Tensor
    ) -> list[tuple[Tensor, Tensor]]:
        """The boxes of both parts of cuts, as `confine` makes them, about."""
        height, width = lower.shape[1:3]
        at, axis = cuts % (height * width), cuts // (height * width)
        rows = torch.arange(height, device=cuts.device)[None, :, None]
        columns = torch.arange(width, device=cuts.device)[None, None, :]
        steps = (rows - (at // width)[:, None, None]).abs()
        steps = steps + (columns - (at % width)[:, None, None]).abs()
        way = torch.where(steps > 0, self.threat.gamma * steps.clamp(min=1), 0.0)
        which = torch.arange(len(cuts), device=cuts.device)
        here = (which, at // width, at % width, axis)
        cut = cutting_point(lower[here], upper[here])[:, None, None]
        along = torch.nn.functional.one_hot(axis, 2).bool()[:, None, None]
        end = torch.where(along, (cut + way)[..., None], math.inf)
        begin = torch.where(along, (cut - way)[..., None], -math.inf)
        below = torch.minimum(upper, torch.maximum(end, lower))
        above = torch.maximum(lower, torch.minimum(begin, upper))
        return [(lower, below), (above, upper)]


def _gaps(margins: Float[Tensor, "N S"]) -> Float[Tensor, " N"]:
    """How far cells are from being proved; 0 where they are."""
    missing = (-margins).clamp(min=0).nan_to_num(nan=math.inf)
    return missing.amax(1) + OTHERS * missing.sum(1)


def _poor(prices: Float[Tensor, "n K"]) -> Int[Tensor, " m"]:
    """The cells of which no cut brings anything to speak of."""
    return (prices.amin(1) > POOR * 2.0**STEEP).nonzero().squeeze(1)


def _prices(shares: Float[Tensor, "*K parts"]) -> Float[Tensor, "*K"]:
    """What is left to do after cuts, by the shares of a gap that their parts keep."""
    return torch.where(shares > 0, torch.exp2(STEEP * shares), 0.0).sum(-1)


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
