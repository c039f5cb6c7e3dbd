"""choose: which neuron to decide next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from warpcert.bound.experience import Experience
from warpcert.bound.goal import Goal
from warpcert.bound.ground import BoxGround, Ground
from warpcert.bound.lines import Lines, ascend, descend, lines
from warpcert.bound.nodes import Nodes
from warpcert.bound.reduced import Reduced
from warpcert.core import rounding
from warpcert.core.memory import chunk_size
from warpcert.core.shapes import Float, Int

LEAST = 1e-3
"""Shares of a gap below this are not told from one another."""

ROW_ARRAYS = 12
"""Float32 arrays of a row's size that trying one side takes, about."""

LOG_2, HALVINGS = math.log(2.0), 20


class Chosen(NamedTuple):
    """For every node a neuron (N,), -1 where none is open, and what deciding it should gain.

    ``points`` (N, P) are where the relaxation is lowest, ``rows`` (N, P) what it is lowest for.
    """

    neurons: Tensor
    gains: Tensor
    points: Tensor
    rows: Tensor


@dataclass(frozen=True)
class Choice:
    """The best of a few candidates, by bounding both sides of each with the slopes there are.

    Candidates are neurons at which the relaxation's minimum is furthest from the hinge, and those
    whose chord stands highest, both weighted by their rows: as BaBSR scores and FSB filters them.
    With `Experience`, so are as many as ``remembered`` that it thinks the most of. The best is the
    one that would close the node's gap in the fewest nodes, see `_growth`.
    """

    candidates: int = 8
    remembered: int = 4

    def __call__(
        self,
        reduced: Reduced,
        ground: Ground,
        nodes: Nodes,
        experience: Experience | None = None,
    ) -> Chosen:
        """Choose for every node, and learn; heuristic, so nothing depends on it."""
        single = reduced.single
        goal = Goal.margins(single, nodes.rows)
        lower, upper = nodes.lower.float(), nodes.upper.float()
        now = lines(single, lower, upper, nodes.slopes)
        pulled = nodes.signs * nodes.pulls
        trace = descend(single, now, goal, pulled)
        least = ground.search(trace.straight, nodes.duals, 0)
        assert least.point is not None
        values = ascend(single, now, trace.weights, least.point)
        bound = trace.constant + least.bound
        bent = (lower < 0) & (upper > 0)
        gaps, chords = _scores(single, now, trace.weights, values)
        gaps, chords = (torch.where(bent, x, -1.0) for x in (gaps, chords))
        each = max(1, min(self.candidates // 2, len(reduced)))
        if not len(reduced):
            nothing = torch.full_like(nodes.rows, -1)
            return Chosen(nothing, bound.new_zeros(len(nodes)), least.point, trace.straight)
        first = gaps.topk(each, dim=1).indices
        chords = chords.scatter(1, first, -1.0)
        second = chords.topk(each, dim=1).indices
        picks = torch.cat([first, second], dim=1)
        gap = (-bound).clamp(min=rounding.FLAT)[:, None]
        if experience is not None and self.remembered:
            merit = torch.where(bent, experience.merit(nodes.rows, gap), -1.0)
            merit = merit.scatter(1, picks, -1.0)
            third = merit.topk(min(self.remembered, len(reduced)), dim=1).indices
            picks = torch.cat([picks, third], dim=1)
        gains = self._gains(reduced, nodes, now, picks)
        open_ = bent.gather(1, picks)
        if experience is not None:
            experience.learn(nodes.rows, picks, torch.where(open_[..., None], gains, torch.nan))
        worst, better = gains.amin(2), gains.amax(2)
        merit = torch.where(open_, -_growth(worst / gap, better / gap), -torch.inf)
        place = merit.argmax(1, keepdim=True)
        neurons = picks.gather(1, place).squeeze(1)
        neurons = torch.where(bent.any(1), neurons, -1)
        least_gain = worst.gather(1, place).squeeze(1).clamp(min=0)
        return Chosen(neurons, least_gain, least.point, trace.straight)

    def _gains(
        self, reduced: Reduced, nodes: Nodes, now: Lines, picks: Int[Tensor, "N K"]
    ) -> Float[Tensor, "N K 2"]:
        """What the bound should gain on either side of every candidate.

        All over the pixels' box: it answers many times quicker than coupled pixels, and orders
        candidates as well.
        """
        size = chunk_size(4 * ROW_ARRAYS * (len(reduced.pixels) + len(reduced)), picks.device)
        each = max(1, size // (2 * picks.shape[1] + 1))
        parts = torch.arange(len(picks), device=picks.device).split(each)
        return torch.cat(
            [
                _gains(reduced, nodes[part], Lines(*(x[part] for x in now)), picks[part])
                for part in parts
            ]
        )


def _gains(
    reduced: Reduced, nodes: Nodes, now: Lines, picks: Int[Tensor, "N K"]
) -> Float[Tensor, "N K 2"]:
    """What the bound should gain on either side of every candidate, see `Choice`."""
    single, loose = reduced.single, BoxGround(reduced)
    count, tries = picks.shape
    index = torch.arange(count, device=picks.device).repeat_interleave(2 * tries)
    place = picks.repeat_interleave(2, dim=1).flatten()[:, None]
    side = torch.tensor([1.0, 0.0], device=picks.device).repeat(count * tries)[:, None]
    left, right = single.sides
    slope = torch.where(side > 0, right[place], left[place])
    sided = Lines(
        now.below[index].scatter(1, place, slope),
        now.above[index].scatter(1, place, slope),
        now.rise[index].scatter(1, place, 0.0),
    )
    pulled = nodes.signs * nodes.pulls

    def bound(those: Tensor, by: Lines) -> Tensor:
        trace = descend(single, by, Goal.margins(single, nodes.rows[those]), pulled[those])
        return trace.constant + loose.search(trace.straight, None).bound

    before = bound(torch.arange(count, device=picks.device), now)[:, None, None]
    return bound(index, sided).view(count, tries, 2) - before


def _growth(less: Tensor, more: Tensor) -> Tensor:
    """The logarithm of how many nodes close a gap when every decision gains such shares of it.

    With N(gap) = exp(c gap), the nodes of a node are those of its sides: c is where
    exp(-c less) + exp(-c more) = 1. A side that closes at once counts for nothing, so that a chain
    of such decisions is short even where the other side gains little.
    """
    less, more = less.clamp(LEAST, 1.0), more.clamp(LEAST, 1.0)
    low, high = torch.zeros_like(less), LOG_2 / less
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        large = torch.exp(-middle * less) + torch.exp(-middle * more) > 1
        low, high = torch.where(large, middle, low), torch.where(large, high, middle)
    return high


def _scores(reduced: Reduced, now: Lines, weights: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """How far each hinge is from its line at the minimum, and how high its chord stands."""
    true = torch.empty_like(values)
    for block, place in zip(reduced.blocks, reduced.places, strict=True):
        assert block.node is not None
        true[:, place] = block.node(values[:, place])
    convex = reduced.convex
    below = now.below * values + torch.where(convex, 0.0, now.rise)
    above = now.above * values + torch.where(convex, now.rise, 0.0)
    taken = torch.where(weights > 0, below, above)
    gaps = weights * (true - taken)
    chords = torch.where(convex, -weights.clamp(max=0), weights.clamp(min=0)) * now.rise.abs()
    return gaps, chords
