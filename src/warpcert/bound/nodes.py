"""Nodes: parts of a problem, each with some neurons' signs decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from warpcert.bound.reduced import Reduced
from warpcert.core.shapes import Float, Int


@dataclass(frozen=True, eq=False)
class Nodes:
    """N parts of a reduced problem: a margin, and the signs of some neurons.

    ``rows`` (N,): which margin; ``signs`` (N, U): 1 where a neuron's input is at least 0, -1 where
    it is at most 0, 0 where nothing was decided. ``lower`` and ``upper`` (N, U) are proved for its
    input where all decisions hold; ``bound`` (N,) likewise for the margin. ``slopes`` and
    ``pulls`` (N, U), the decisions' multipliers, and ``duals`` are where a search stopped; they are
    never trusted. ``choice`` (N,) is the neuron to decide next, -1 where none is left.
    """

    rows: Int[Tensor, " N"]
    signs: Int[Tensor, "N U"]
    lower: Float[Tensor, "N U"]
    upper: Float[Tensor, "N U"]
    bound: Float[Tensor, " N"]
    slopes: Float[Tensor, "N U"]
    pulls: Float[Tensor, "N U"]
    duals: Tensor | None
    choice: Int[Tensor, " N"]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Tensor) -> Nodes:
        """Some of the nodes, by number or mask."""
        parts = (getattr(self, field.name) for field in fields(self))
        return Nodes(*(None if part is None else part[index] for part in parts))  # type: ignore[arg-type]

    def put(self, index: Int[Tensor, " n"], some: Nodes) -> Nodes:
        """The same with other nodes in some places, as many as there are places."""
        parts = []
        for field in fields(self):
            old, new = getattr(self, field.name), getattr(some, field.name)
            parts.append(None if old is None else old.index_copy(0, index, new))
        return Nodes(*parts)  # type: ignore[arg-type]

    @staticmethod
    def join(several: Sequence[Nodes]) -> Nodes:
        """All nodes of several batches."""
        names = [field.name for field in fields(Nodes)]
        parts = [[getattr(nodes, name) for nodes in several] for name in names]
        return Nodes(*(None if part[0] is None else torch.cat(part) for part in parts))  # type: ignore[arg-type]

    @staticmethod
    def roots(reduced: Reduced, rows: Int[Tensor, " N"], bound: Float[Tensor, " N"]) -> Nodes:
        """Nodes without decisions, one for each of some margins."""
        shape = (len(rows), len(reduced))
        lower, upper = (x.expand(shape) for x in (reduced.lower, reduced.upper))
        zeros = torch.zeros(shape, dtype=torch.float32, device=lower.device)
        slopes = (upper > -lower).to(torch.float32)
        signs = torch.zeros(shape, dtype=torch.int8, device=lower.device)
        choice = torch.full_like(rows, -1)
        return Nodes(rows, signs, lower, upper, bound, slopes, zeros, None, choice)

    def children(self) -> Nodes:
        """Both signs of every node's choice: the first half at least 0, the second at most 0.

        Sound, because every number is at least 0 or at most 0, so the two cover their parent.
        """
        which = torch.arange(len(self), device=self.rows.device)
        both = self[torch.cat([which, which])]
        place = both.choice[:, None]
        sign = torch.ones_like(place, dtype=torch.int8)
        sign[len(self) :] = -1
        low, high = both.lower.gather(1, place), both.upper.gather(1, place)
        low = torch.where(sign > 0, low.clamp(min=0), low)
        high = torch.where(sign < 0, high.clamp(max=0), high)
        return Nodes(
            both.rows,
            both.signs.scatter(1, place, sign),
            both.lower.scatter(1, place, low),
            both.upper.scatter(1, place, high),
            both.bound,
            both.slopes,
            both.pulls,
            both.duals,
            torch.full_like(both.choice, -1),
        )
