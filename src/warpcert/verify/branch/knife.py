"""Knife: where to cut a cell of the field, and what cutting should bring."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from warpcert.core.interval import Interval
from warpcert.core.shapes import Float
from warpcert.flow import Threat
from warpcert.flow.split import Parts, split
from warpcert.verify.branch.cell import Cell

ALIKE = 0.7
"""An axis is cut with the other one when it is at least this share of its length."""

DEEPEST = 10
"""Cuts in a row that an estimate looks ahead."""


@dataclass(frozen=True, eq=False)
class Knife:
    """Cuts for an image; ``steepness`` (C, H, W) is how much each pixel matters, about.

    A pixel's box matters by its width times steepness. A cut of pixel r halves its own interval,
    and confines a pixel d steps away to that plus gamma d on either side: the best r confines
    the most. Heuristics: whatever is cut where, the parts cover the cell.
    """

    threat: Threat
    steepness: Float[Tensor, "C H W"]

    def __call__(self, cell: Cell, box: Interval) -> Parts:
        """The parts of a cell, cut along both axes or the longer one."""
        width = self.steepness.shape[2]
        best = int(self._scores(cell, box).argmax())
        row, column = best // width, best % width
        size = (cell.upper - cell.lower)[row, column]
        at = torch.tensor([[row, column]], device=size.device)
        axes = (size > ALIKE * size.amax())[None]
        return split(self.threat, cell.lower[None], cell.upper[None], at, axes)

    def cuts(self, cell: Cell, box: Interval, centre: float) -> float:
        """How many cuts in a row should close a cell; inf where none will.

        With boxes of no width the worst margin would be that of the cell's ``centre``, with those
        there are it is known; in between it is taken as linear. Of a pixel's box, cutting leaves
        gamma times its distance.
        """
        if not centre > 0 or not math.isfinite(cell.loose):
            return math.inf
        needed = centre / (centre - cell.loose)  # the share of the widths that would do
        left = self._rest(cell, box)
        return math.log2((1 - left) / (needed - left)) if needed > left else math.inf

    def _weights(self, box: Interval) -> Float[Tensor, " pixels"]:
        return (box.width[0].to(self.steepness) * self.steepness).sum(0).flatten()

    def _scores(self, cell: Cell, box: Interval) -> Float[Tensor, " pixels"]:
        """How much a cut of each pixel confines."""
        half = (cell.upper - cell.lower).amax(2).flatten() / 2
        return (half[:, None] - self._away).clamp(min=0) @ self._weights(box).to(half)

    def _rest(self, cell: Cell, box: Interval) -> float:
        """The share of the boxes' widths that cutting cannot take away."""
        half = (cell.upper - cell.lower).amax(2).flatten().clamp(min=1e-12) / 2
        weights = self._weights(box).to(half)
        best = int(self._scores(cell, box).argmax())
        share = (self._away[best] / half).clamp(max=1.0)
        return float((share * weights).sum() / weights.sum().clamp(min=1e-300))

    @cached_property
    def _away(self) -> Float[Tensor, "pixels pixels"]:
        """Gamma times the steps between every two pixels."""
        _, height, width = self.steepness.shape
        rows = torch.arange(height, device=self.steepness.device).repeat_interleave(width)
        columns = torch.arange(width, device=self.steepness.device).repeat(height)
        steps = (rows[:, None] - rows).abs() + (columns[:, None] - columns).abs()
        far = self.threat.gamma * steps.to(torch.float64).clamp(min=1)
        return torch.where(steps > 0, far, 0.0)
