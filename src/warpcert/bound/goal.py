"""Goal: what is bounded for each of many nodes."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from warpcert.bound.reduced import Reduced
from warpcert.core.shapes import Int


class Goal(NamedTuple):
    """One row for each of N nodes, in terms of the pixels and the units of blocks before ``top``.

    ``row`` is (N, P + earlier units), ``constant`` (N,); ``size`` and ``error`` are as in `Block`.
    """

    row: Tensor
    constant: Tensor
    size: Tensor
    error: Tensor
    top: int

    @staticmethod
    def margins(reduced: Reduced, rows: Int[Tensor, " N"]) -> Goal:
        """Margins by their numbers: those of nodes are in ``nodes.rows``."""
        block = reduced.margins
        sizes = block.size[rows], block.error[rows]
        return Goal(block.matrix[rows], block.constant[rows], *sizes, len(reduced.blocks))

    @staticmethod
    def neurons(reduced: Reduced, number: int, entries: Tensor, signs: Tensor) -> Goal:
        """The inputs of some neurons of a block, or minus them, by ``signs`` (N,)."""
        block = reduced.blocks[number]
        row, constant = signs[:, None] * block.matrix[entries], signs * block.constant[entries]
        return Goal(row, constant, block.size[entries], block.error[entries], number)

    def single(self) -> Goal:
        """The same in float32, for searches."""
        sizes = self.size.float(), self.error.float()
        return Goal(self.row.float(), self.constant.float(), *sizes, self.top)
