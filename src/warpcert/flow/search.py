"""search: good duals, by the method that fits each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from warpcert.core.memory import chunk_size
from warpcert.core.shapes import Float, Int
from warpcert.flow.ascent import NEAR, WARM, climb, settle
from warpcert.flow.interior import interior, working_bytes
from warpcert.flow.terminals import Terminals, needed_terminals


class Start(NamedTuple):
    """How to begin: most terminals, most steps between them, and what other pixels may hold."""

    terminals: int
    iterations: int
    missed: float


STARTS = {0: Start(32, 6, 1e-3), 100: Start(64, 10, 1e-4), 500: Start(128, 16, 0.0)}
"""By the number of steps on the grid that would follow, from that on."""

SCATTERED = 0.002
"""Which part of the variation must be on other pixels for steps on the grid to follow."""

FEWEST = 8
"""Terminals of the smallest problems; each next size has twice as many."""


def search(
    values: Float[Tensor, "K B R h w"],
    at: Tensor,
    gamma: float,
    steps: int,
    warm: Float[Tensor, "B R 2 2 h w"] | None = None,
    track: bool = False,
) -> tuple[Float[Tensor, "B R 2 2 h w"], Float[Tensor, "K B R h w"] | None]:
    """Duals, in float32, that make the bound high. Nothing is proved here.

    ``values``: the objective at every pixel's points; ``at``: the points, see `Points`. The pixels
    that matter most are solved for alone; where others matter too, steps on the whole grid go on
    from there. A few steps from warm duals are taken on the grid at once. With ``track`` come
    weights on the points that are nearly the minimiser of the hull problem.
    """
    if warm is not None and steps < min(filter(None, STARTS)):
        return climb(values, at, gamma, steps, warm, track, WARM)
    start = STARTS[max(least for least in STARTS if least <= steps)]
    rows = values.flatten(1, 2)
    if at.dim() > 2:
        at = at.expand(2, *values.shape).flatten(2, 3)
    needed, concentrated = needed_terminals(rows, start.missed, SCATTERED)
    duals = values.new_zeros((rows.shape[1], 2, 2, *rows.shape[2:]))
    weights = torch.zeros_like(rows) if track else None
    for most, which in _by_size(needed, start.terminals):
        for part in which.split(chunk_size(working_bytes(most, len(rows)), rows.device)):
            terminals = Terminals.of(rows[:, part], _of(at, part), most)
            flow, shares = interior(terminals, gamma, start.iterations)
            duals[part] = terminals.along_grid(flow).to(torch.float32)
            if weights is not None:
                below = settle(rows[:, None, part], _of(at, part, alone=True), duals[None, part])
                weights[:, part] = terminals.placed(shares.to(torch.float32), below[:, 0])
    left = (concentrated > start.terminals).nonzero().squeeze(1)
    if len(left):
        alone = rows[:, None, left], _of(at, left, alone=True)
        more, mean = climb(*alone, gamma, steps, duals[None, left], track, NEAR)
        duals[left] = more[0]
        if weights is not None and mean is not None:
            weights[:, left] = mean[:, 0]
    batch = values.shape[1:3]
    return duals.unflatten(0, batch), None if weights is None else weights.unflatten(1, batch)


def _by_size(needed: Int[Tensor, " N"], most: int) -> Iterator[tuple[int, Int[Tensor, " n"]]]:
    """Numbers of terminals, and the rows that are solved with so many."""
    size, smaller = min(FEWEST, most), -1
    while smaller < most:
        last = size >= most
        here = needed > smaller if last else (needed > smaller) & (needed <= size)
        which = here.nonzero().squeeze(1)
        if len(which):
            yield size, which
        smaller, size = size, min(2 * size, most)


def _of(at: Tensor, rows: Tensor, alone: bool = False) -> Tensor:
    """The points of some rows; ``alone``: as those of one image."""
    if at.dim() == 2:
        return at
    return at[:, :, None, rows] if alone else at[:, :, rows]
