"""Goal: what is bounded for each of many nodes."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from warpcert.bound.reduced import Reduced
from warpcert.core.shapes import Int


class Goal(NamedTuple):
    """One row for each of N nodes, in terms of the pixels and the units of blocks before ``top``.

    ``straight`` is (N, P), ``units`` (N, earlier units), ``constant`` (N,); ``size`` and ``error``
    are as in `Block`.
    """

    straight: Tensor
    units: Tensor
    constant: Tensor
    size: Tensor
    error: Tensor
    top: int

    @staticmethod
    def margins(reduced: Reduced, rows: Int[Tensor, " N"]) -> Goal:
        """Margins by their numbers: those of nodes are in ``nodes.rows``."""
        block = reduced.margins
        sizes = block.size[rows], block.error[rows]
        row = block.straight.take(rows), block.units[rows], block.constant[rows]
        return Goal(*row, *sizes, len(reduced.blocks))

    @staticmethod
    def neurons(reduced: Reduced, number: int, entries: Tensor, signs: Tensor) -> Goal:
        """The inputs of some neurons of a block, or minus them, by ``signs`` (N,)."""
        block = reduced.blocks[number]
        side = signs[:, None]
        row = side * block.straight.take(entries), side * block.units[entries]
        sizes = block.size[entries], block.error[entries]
        return Goal(*row, signs * block.constant[entries], *sizes, number)

    def single(self) -> Goal:
        """The same in float32, for searches."""
        row = self.straight.float(), self.units.float(), self.constant.float()
        return Goal(*row, self.size.float(), self.error.float(), self.top)
