"""Lines around hinges, and the two passes of a search: down to the pixels, and up again."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from warpcert.bound.goal import Goal
from warpcert.bound.reduced import Reduced


class Lines(NamedTuple):
    """Slopes below and above the hinges of M rows, and what stands above at zero: each (M, U).

    Where a hinge is bent it is convex or, for a leaky one of slope above 1, concave: then ``rise``
    is what its chord has at zero, which is negative, and belongs to the line below.
    """

    below: Tensor
    above: Tensor
    rise: Tensor


class Trace(NamedTuple):
    """What rows met on their way down: weights (M, U) at the hinges, and where they ended."""

    weights: Tensor
    straight: Tensor
    constant: Tensor


def lines(reduced: Reduced, lower: Tensor, upper: Tensor, slopes: Tensor) -> Lines:
    """Lines for a search: below a convex hinge the slopes as given, also where its sign is known.

    Then a node whose neuron was decided begins where its parent ended; above it, and below a
    concave one, the chord where the hinge is bent and its own side where it is not.
    """
    left, right = reduced.sides
    left, right = (x[: lower.shape[1]] for x in (left, right))
    bent = (lower < 0) & (upper > 0)
    width = torch.where(bent, upper - lower, 1.0)
    chord = (right * upper - left * lower) / width
    rise = torch.where(bent, (right - chord) * upper, 0.0)
    side = torch.where(upper > 0, right, left)
    inner = torch.clamp(slopes, torch.minimum(left, right), torch.maximum(left, right))
    convex = left <= right
    below = torch.where(convex, inner, torch.where(bent, chord, side))
    above = torch.where(bent, torch.where(convex, chord, inner), side)
    return Lines(below, above, rise)


def descend(reduced: Reduced, lines: Lines, goal: Goal, pulled: Tensor | None) -> Trace:
    """Substitute rows back to the pixels; ``pulled`` (M, U) is sign times pull at every hinge."""
    straight, row, constant, weights = goal.straight, goal.units, goal.constant, []
    for number in range(goal.top - 1, -1, -1):
        block, place = reduced.blocks[number], reduced.places[number]
        a = row[:, place]
        up, down = a.clamp(min=0), a.clamp(max=0)
        p = up * lines.below[:, place] + down * lines.above[:, place]
        bent = down if block.convex else up
        constant = constant + (bent * lines.rise[:, place]).sum(1)
        if pulled is not None:
            p = p - pulled[:, place]
        weights.append(a)
        straight = block.straight.back(straight, p)
        row = torch.addmm(row[:, : place.start], p, block.units)
        constant = torch.addmv(constant, p, block.constant)
    whole = torch.cat(weights[::-1], dim=1) if weights else row[:, :0]
    return Trace(whole, straight, constant)


def ascend(reduced: Reduced, lines: Lines, weights: Tensor, points: Tensor) -> Tensor:
    """Values z (M, U) of the relaxation at points: every hinge is on the line its row took."""
    units, values = points[:, :0], []
    for block, place in zip(reduced.blocks, reduced.places, strict=True):
        if place.stop > weights.shape[1]:
            break
        z = block.values(points, units)
        below, above = lines.below[:, place] * z, lines.above[:, place] * z
        if block.convex:
            above = above + lines.rise[:, place]
        else:
            below = below + lines.rise[:, place]
        values.append(z)
        units = torch.cat([units, torch.where(weights[:, place] > 0, below, above)], dim=1)
    return torch.cat(values, dim=1) if values else weights
