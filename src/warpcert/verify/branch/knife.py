"""Knife: where to cut a cell of the field, and what cutting should bring."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from warpcert.core.rounding import NOTHING, SLIGHT
from warpcert.core.shapes import Float
from warpcert.flow import Threat
from warpcert.flow.split import Parts, split
from warpcert.verify.branch.cell import Cell

ALIKE = 0.4
"""An axis is cut with the other one when that brings at least this share of the other's gain."""

SMOOTH = 0.3
"""What confining a pixel is worth when no grid line, where interpolation kinks, runs through its
box, in terms of one with a line."""


@dataclass(frozen=True, eq=False)
class Knife:
    """Cuts for an image (C, H, W); ``steepness`` of its shape says how much each entry matters.

    A pixel matters along an axis by its steepness times how much the image changes along it. A
    cut of pixel r halves its interval, and confines a pixel d steps away to that and gamma d
    more on either side: the best r confines the most. Heuristics alone: whatever is cut where, the
    parts cover the cell.
    """

    threat: Threat
    image: Float[Tensor, "C H W"]
    steepness: Float[Tensor, "C H W"]

    def __call__(self, cell: Cell) -> tuple[tuple[int, int], Parts]:
        """A pixel (row, column), and the parts of a cell cut there along both axes or one."""
        gains = self._gains(cell)
        best = int(gains.sum(0).argmax())
        width = self.image.shape[2]
        row, column = best // width, best % width
        mine = gains[:, best]
        moves = cell.upper[row, column] > cell.lower[row, column]
        axes = moves & (mine >= ALIKE * mine.amax())
        at = torch.tensor([[row, column]], device=mine.device)
        parts = split(self.threat, cell.lower[None], cell.upper[None], at, axes[None])
        return (row, column), parts

    def cuts(self, cell: Cell, centre: float) -> float:
        """How many cuts in a row should close a cell; inf where none will.

        With boxes of no width the worst margin would be that of the cell's ``centre``, with those
        there are it is known; in between it is taken as linear. Of a pixel's box, cuts of the best
        one leave gamma times its distance; of free pixels each would have to be cut.
        """
        if not centre > 0 or not math.isfinite(cell.loose) or math.isinf(self.threat.gamma):
            return math.inf
        needed = centre / (centre - cell.loose)  # the share of the widths that would do
        best = int(self._gains(cell).sum(0).argmax())
        half = self._halves(cell)
        weights = self._weights * half
        share = (self._away[best] / half.clamp(min=NOTHING)).clamp(max=1.0)
        left = float((share * weights).sum() / weights.sum().clamp(min=NOTHING))
        return math.log2((1 - left) / (needed - left)) if needed > left else math.inf

    def _gains(self, cell: Cell) -> Float[Tensor, "2 pixels"]:
        """How much a cut of each pixel confines along each axis, weighted by what matters."""
        half = self._halves(cell)
        low, high = (x.reshape(-1, 2).T for x in (cell.lower, cell.upper))
        kinked = torch.floor(low) + 1 < high
        worth = self._weights * torch.where(kinked, 1.0, SMOOTH)
        found = []
        for axis in (0, 1):
            rest = half[axis][:, None] / 2 + self._away  # what is left of the others' halves
            found.append((half[axis] - rest).clamp(min=0) @ worth[axis])
        return torch.stack(found)

    @staticmethod
    def _halves(cell: Cell) -> Float[Tensor, "2 pixels"]:
        return (cell.upper - cell.lower).reshape(-1, 2).T / 2

    @cached_property
    def _weights(self) -> Float[Tensor, "2 pixels"]:
        """How much a pixel's displacement along x and y matters."""
        image, steep = self.image.to(torch.float64), self.steepness.to(torch.float64)
        found = []
        for axis in (2, 1):
            change = image.diff(dim=axis).abs()
            before, after = ((1, 0), (0, 1)) if axis == 2 else ((0, 0, 1, 0), (0, 0, 0, 1))
            around = torch.maximum(F.pad(change, before), F.pad(change, after))
            found.append((steep * around).sum(0).flatten())
        both = torch.stack(found)
        return both + SLIGHT * both.amax() + NOTHING

    @cached_property
    def _away(self) -> Float[Tensor, "pixels pixels"]:
        """Gamma times the steps between every two pixels."""
        _, height, width = self.image.shape
        rows = torch.arange(height, device=self.image.device).repeat_interleave(width)
        columns = torch.arange(width, device=self.image.device).repeat(height)
        steps = (rows[:, None] - rows).abs() + (columns[:, None] - columns).abs()
        far = self.threat.gamma * steps.to(torch.float64).clamp(min=1)
        return torch.where(steps > 0, far, 0.0)
