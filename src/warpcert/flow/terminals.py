"""Terminals: the few pixels that a sparse row asks about, and how far apart they are.

Where a row is zero, or its image flat, a pixel only hands on what its neighbours do. Fields that
are gamma-Lipschitz between the other pixels, the terminals, extend to all of them, so that the
search for duals can look at terminals alone, with an edge of capacity gamma times their distance
between any two. What it finds is flow along those edges; led along the grid on a shortest path
each, it costs the same and pushes no pixel on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.core.shapes import Bool, Float, Int

EDGES = 6
"""Edges per terminal, at most. Without the longer ones there are duals fewer, nothing wrong."""


@dataclass(frozen=True, eq=False)
class Terminals:
    """For each of N rows, m pixels (``top``, ``left``) and E edges from ``start`` to ``end``.

    ``values`` are those at every terminal's K points, ``at`` the points: (K, 2) where all pixels
    share them, else (N, m, K, 2). ``real`` marks the edges; the others fill rows that have fewer.
    ``length`` is the distance along the grid, ``size`` that of the grid.
    """

    top: Int[Tensor, "N m"]
    left: Int[Tensor, "N m"]
    values: Float[Tensor, "N m K"]
    at: Tensor
    start: Int[Tensor, "N E"]
    end: Int[Tensor, "N E"]
    length: Int[Tensor, "N E"]
    real: Bool[Tensor, "N E"]
    size: tuple[int, int]

    @classmethod
    def of(cls, values: Float[Tensor, "K N h w"], at: Tensor, most: int) -> Terminals:
        """The ``most`` pixels where values vary most; ``at`` is (2, K), or (2, K, N, h, w)."""
        height, width = values.shape[-2:]
        variation = (values.amax(0) - values.amin(0)).flatten(1)
        found = variation.topk(min(most, height * width), dim=1)
        chosen = found.indices
        asked = values.flatten(2).permute(1, 2, 0)
        asked = asked.gather(1, chosen[..., None].expand(-1, -1, asked.shape[2]))
        if at.dim() == 2:
            places = at.T
        else:
            places = at.flatten(3).permute(2, 3, 1, 0)
            places = places.gather(1, chosen[..., None, None].expand(-1, -1, *places.shape[2:]))
        top, left = chosen // width, chosen % width
        start, end, length, real = _edges(top, left, found.values > 0, (height, width))
        return cls(top, left, asked, places, start, end, length, real, (height, width))

    def along_grid(self, duals: Float[Tensor, "N 2 E"]) -> Float[Tensor, "N 2 2 h w"]:
        """The same flow along the grid, see `differences`: across first, then down.

        An edge's dual is added where its path begins and taken off where it ends, and running sums
        do the rest; their rounding pushes the pixels between a little, which costs no soundness.
        """
        height, width = self.size
        begin_top, begin_left, end_top, end_left = (
            place.gather(1, which)[:, None].expand_as(duals)
            for which in (self.start, self.end)
            for place in (self.top, self.left)
        )
        across, down = (duals.new_zeros((len(duals), 2, height * width)) for _ in range(2))
        corner = begin_top * width + end_left
        across.scatter_add_(2, begin_top * width + begin_left, duals)
        across.scatter_add_(2, corner, -duals)
        down.scatter_add_(2, corner, duals)
        down.scatter_add_(2, end_top * width + end_left, -duals)
        return torch.stack(
            [
                across.unflatten(2, self.size).cumsum(3),
                down.unflatten(2, self.size).cumsum(2),
            ],
            dim=1,
        )

    def placed(
        self, weights: Float[Tensor, "N m K"], others: Float[Tensor, "K N h w"]
    ) -> Float[Tensor, "K N h w"]:
        """Weights on the terminals' points among those of all other pixels."""
        where = (self.top * self.size[1] + self.left)[None].expand(len(others), -1, -1)
        return others.flatten(2).scatter(2, where, weights.permute(2, 0, 1)).view_as(others)


def needed_terminals(values: Float[Tensor, "K N h w"], *missed: float) -> list[Int[Tensor, " N"]]:
    """How many pixels hold all variation of the values but a part of it, for each such part."""
    variation = (values.amax(0) - values.amin(0)).flatten(1).sort(dim=1, descending=True).values
    sums = variation.cumsum(1)
    return [(sums < (1 - part) * sums[:, -1:]).sum(1) + 1 for part in missed]


def _edges(
    top: Tensor, left: Tensor, counts: Tensor, size: tuple[int, int]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The pairs with no other terminal on a shortest path between them, the nearest first.

    Shortest paths fill the rectangle that two pixels span; one that leads over a third terminal
    is two edges already.
    """
    (high, low), (near, far) = (
        (torch.minimum(x[:, :, None], x[:, None]), torch.maximum(x[:, :, None], x[:, None]))
        for x in (top, left)
    )
    before = _Before(top, left, counts, size)
    inside = before(low + 1, far + 1) - before(high, far + 1)
    inside += before(high, near) - before(low + 1, near)
    first = torch.ones_like(inside[0], dtype=torch.bool).triu(1)
    pairs = (inside == 2) & counts[:, :, None] & counts[:, None] & first
    none = sum(size)  # longer than any edge
    lengths = torch.where(pairs, (low - high) + (far - near), none).flatten(1)
    most = min(int(pairs.sum((1, 2)).max()), EDGES * top.shape[1])
    length, chosen = lengths.topk(max(most, 1), dim=1, largest=False)
    return chosen // top.shape[1], chosen % top.shape[1], length, length < none


class _Before:
    """How many terminals are above one line and left of another."""

    def __init__(self, top: Tensor, left: Tensor, counts: Tensor, size: tuple[int, int]) -> None:
        height, self.width = size[0] + 1, size[1] + 1
        marks = top.new_zeros((len(top), height * self.width))
        marks.scatter_add_(1, (top + 1) * self.width + left + 1, counts.to(marks.dtype))
        self.sums = marks.view(-1, height, self.width).cumsum(1).cumsum(2).flatten(1)

    def __call__(self, line: Int[Tensor, "N m m"], column: Int[Tensor, "N m m"]) -> Tensor:
        where = line * self.width + column
        return self.sums.gather(1, where.flatten(1)).view_as(where)
