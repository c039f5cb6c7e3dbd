"""careful: what slopes and multipliers prove about nodes."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.bound.goal import Goal
from warpcert.bound.ground import Ground
from warpcert.bound.nodes import Nodes
from warpcert.bound.reduced import Reduced
from warpcert.core import rounding
from warpcert.core.shapes import Float


def careful(
    reduced: Reduced, ground: Ground, nodes: Nodes, goal: Goal, steps: int | None = 0
) -> tuple[Float[Tensor, " N"], Tensor | None]:
    """Sound lower bounds of a goal in float64 with every node's slopes, pulls and duals.

    Sound, because at a block z = M (x, u) + c up to its error, <p, z> = <M^T p, (x, u)> + <p, c>,
    and a hinge's a+ u + a- u is at least a+ times the line below (see `Activation.band`: of any
    slope, wherever the hinge is bent or not) plus a- times the line above;
    subtracting pull * sign * z, which is never negative where the decisions hold, only lowers it.
    All that is rounded is paid for by `rounding.backward` times |p| times the sizes, and each
    block's own error by |p| times that. What is not a number proves nothing. ``steps`` are spent on
    the set's duals, which come back.
    """
    straight, row, constant, lost, paid, top = goal
    count = len(reduced.pixels) + len(reduced)
    for number in range(top - 1, -1, -1):
        block, place = reduced.blocks[number], reduced.places[number]
        assert block.node is not None
        lower, upper = nodes.lower[:, place], nodes.upper[:, place]
        slope = None
        if block.convex:
            slope = nodes.slopes[:, place].to(lower).nan_to_num().clamp(*block.node.sides)
        band = block.node.band(lower, upper, slope)
        a = row[:, place]
        up, down = a.clamp(min=0), a.clamp(max=0)
        p = up * band.below.slope + down * band.above.slope
        size = reduced.magnitude[place]
        gained = up * band.below.intercept + down * band.above.intercept
        pull = nodes.pulls[:, place].to(p).clamp(min=0) * nodes.signs[:, place].to(p)
        lost = lost + gained.abs().sum(1) + (2 * p.abs() + pull.abs()) @ size
        constant = constant + gained.sum(1)
        p = p - pull
        lost = lost + p.abs() @ (block.size + size)
        paid = paid + p.abs() @ block.error
        straight = block.straight.back(straight, p)
        row = torch.addmm(row[:, : place.start], p, block.units)
        constant = torch.addmv(constant, p, block.constant)
    fine = torch.isfinite(straight).all(1)
    least = ground.prove(torch.where(fine[:, None], straight, 0.0), nodes.duals, steps)
    unit = rounding.backward(count, 2 * top + 2)
    floor = rounding.underflow(count) * (count + float(reduced.magnitude.sum()))
    slack = unit * lost + (1 + unit) * paid + floor + rounding.FAINT
    slack = slack + rounding.summation(4) * (constant.abs() + least.bound.abs() + slack)
    bound = constant + least.bound - slack
    fine &= ~torch.isnan(bound) & (bound < torch.inf)
    return torch.where(fine, bound, -torch.inf), least.duals
