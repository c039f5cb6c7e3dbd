"""choose: which neuron to decide next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from warpcert.bound.goal import Goal
from warpcert.bound.ground import Ground
from warpcert.bound.lines import Lines, ascend, descend, lines
from warpcert.bound.nodes import Nodes
from warpcert.bound.reduced import Reduced


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
    """

    candidates: int = 8

    def __call__(self, reduced: Reduced, ground: Ground, nodes: Nodes) -> Chosen:
        """Choose for every node; heuristic, so nothing depends on it."""
        single = reduced.single
        goal = Goal.margins(single, nodes)
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
        second = chords.scatter(1, first, -1.0).topk(each, dim=1).indices
        picks = torch.cat([first, second], dim=1)
        sides = self._sides(reduced, ground, nodes, now, picks)
        worst, better = sides.amin(2), sides.amax(2)
        merit = (worst - bound[:, None]) + 0.1 * (better - bound[:, None]).clamp(max=1e3)
        merit = torch.where(bent.gather(1, picks), merit, -torch.inf)
        place = merit.argmax(1, keepdim=True)
        neurons = picks.gather(1, place).squeeze(1)
        neurons = torch.where(bent.any(1), neurons, -1)
        gains = (worst.gather(1, place).squeeze(1) - bound).clamp(min=0)
        return Chosen(neurons, gains, least.point, trace.straight)

    def _sides(
        self,
        reduced: Reduced,
        ground: Ground,
        nodes: Nodes,
        now: Lines,
        picks: Tensor,
    ) -> Tensor:
        """About the bound on either side of every candidate: (N, K, 2)."""
        single = reduced.single
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
        goal = Goal.margins(single, nodes[index])
        pulled = (nodes.signs * nodes.pulls)[index]
        trace = descend(single, sided, goal, pulled)
        duals = None if nodes.duals is None else nodes.duals[index]
        least = ground.search(trace.straight, duals, 0)
        return (trace.constant + least.bound).view(count, tries, 2)


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
