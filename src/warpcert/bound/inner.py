"""Inner bounds of nodes: what decisions say about the neurons behind them."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from warpcert.bound.beta import Beta
from warpcert.bound.careful import careful
from warpcert.bound.goal import Goal
from warpcert.bound.ground import Ground
from warpcert.bound.nodes import Nodes
from warpcert.bound.reduced import Reduced
from warpcert.core import rounding
from warpcert.core.memory import chunk_size
from warpcert.core.shapes import Bool

ROW_ARRAYS = 8
"""Arrays of a row's size that bounding it takes, about."""


def straight_ends(reduced: Reduced, ground: Ground) -> tuple[Tensor, Tensor]:
    """Bounds (U,) of each open neuron's part that is linear in the pixels, over the whole set."""
    pixels = len(reduced.pixels)
    rows = [block.straight.matrix for block in reduced.blocks]
    whole = torch.cat([*rows, reduced.low.new_zeros((0, pixels))])
    return ground.prove(whole, None).bound, -ground.prove(-whole, None).bound


def propagate(
    reduced: Reduced, ends: tuple[Tensor, Tensor], nodes: Nodes
) -> tuple[Nodes, Bool[Tensor, " N"]]:
    """Intervals of all blocks from those of the blocks before, and which nodes are empty.

    ``ends`` are `straight_ends`. Sound, because z = M (x, u) + c up to its error, each unit lies
    between its hinge's values on its own interval, and a sum is least where its terms are; all
    rounding is paid for. Where two true intervals have no point in common, no member has these
    signs, so that anything holds there.
    """
    pixels = len(reduced.pixels)
    count = pixels + len(reduced)
    lower, upper = nodes.lower.clone(), nodes.upper.clone()
    low = lower.new_zeros((len(nodes), len(reduced)))
    high = torch.zeros_like(low)
    empty = (lower > upper).any(1)
    unit = rounding.backward(count, 2)
    for block, place in zip(reduced.blocks, reduced.places, strict=True):
        assert block.node is not None
        if place.start:
            weights = block.units.T
            up, down = weights.clamp(min=0), weights.clamp(max=0)
            before_low, before_high = low[:, : place.start], high[:, : place.start]
            slack = unit * block.size + block.error + rounding.FAINT
            least = before_low @ up + before_high @ down + block.constant + ends[0][place]
            most = before_high @ up + before_low @ down + block.constant + ends[1][place]
            slack = slack + unit * (ends[0][place].abs() + ends[1][place].abs())
            lower[:, place] = torch.fmax(lower[:, place], least - slack)
            upper[:, place] = torch.fmin(upper[:, place], most + slack)
        gone = lower[:, place] > upper[:, place]
        empty |= gone.any(1)
        safe = torch.where(gone, lower[:, place], upper[:, place])
        low[:, place], high[:, place] = block.node.image(lower[:, place], safe)
    upper = torch.maximum(lower, upper)
    return replace(nodes, lower=lower, upper=upper), empty


def tighten(
    reduced: Reduced,
    ground: Ground,
    nodes: Nodes,
    number: int,
    beta: Beta | None = None,
    steps: int | None = 0,
) -> tuple[Nodes, Bool[Tensor, " N"]]:
    """Bound the open neurons of one block anew, by rows; and say which nodes are empty.

    Sound, because what `careful` finds for a row z holds wherever the node's decisions do.
    """
    place = reduced.places[number]
    lower, upper = nodes.lower.clone(), nodes.upper.clone()
    node = reduced.blocks[number].node
    assert node is not None
    which, entries = node.bent(lower[:, place], upper[:, place]).nonzero(as_tuple=True)
    size = chunk_size(8 * ROW_ARRAYS * (len(reduced.pixels) + len(reduced)), lower.device)
    for some, at in zip(which.split(size), entries.split(size), strict=True):
        both, ats = torch.cat([some, some]), torch.cat([at, at])
        signs = torch.ones(len(both), dtype=lower.dtype, device=lower.device)
        signs[len(some) :] = -1
        goal = Goal.neurons(reduced, number, ats, signs)
        asked = replace(nodes[both], duals=None)
        if beta is not None:
            asked = beta(reduced, ground, asked, goal)
        bound, _ = careful(reduced, ground, asked, goal, steps)
        below, above = bound[: len(some)], -bound[len(some) :]
        places = at + place.start
        lower[some, places] = torch.maximum(lower[some, places], below)
        upper[some, places] = torch.minimum(upper[some, places], above)
    empty = (lower > upper).any(1)
    return replace(nodes, lower=lower, upper=torch.maximum(lower, upper)), empty
