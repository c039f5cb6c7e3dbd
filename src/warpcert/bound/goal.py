"""Goal: what is bounded for each of many nodes."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from warpcert.bound.nodes import Nodes
from warpcert.bound.reduced import Reduced


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
    def margins(reduced: Reduced, nodes: Nodes) -> Goal:
        """Every node's own margin."""
        block, rows = reduced.margins, nodes.rows
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
