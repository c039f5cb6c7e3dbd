"""Beta: slopes, and multipliers of decisions, made better together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from warpcert.bound.goal import Goal
from warpcert.bound.ground import Ground
from warpcert.bound.lines import ascend, descend, lines
from warpcert.bound.nodes import Nodes
from warpcert.bound.reduced import Reduced
from warpcert.core import rounding
from warpcert.core.clock import tick


@dataclass(frozen=True)
class Beta:
    """Adam on every node's slopes and pulls, in float32.

    Nothing that the search does can make a bound wrong: every slope between a convex hinge's two
    sides gives a line below it, and with a neuron's input z decided to be s z >= 0 and any pull
    beta >= 0 the margin is at least margin - beta s z wherever the decision holds. Gradients are
    those of the relaxation's minimum: a slope's is its row's weight times z there, a pull's is
    -s z. A pull moves by ``pull_rate`` times the largest weight. Every so many iterations
    (``every``) the input set's duals are made better, too. The best of all is kept.

    Where a neuron's sign is known its line may be exact, but that is no gain where the relaxation
    puts it on the other side: so all begin with the slopes they have, which prove about what they
    did for their parent, and take the exact ones where the minimum agrees.
    """

    iterations: int = 10
    rate: float = 0.1
    pull_rate: float = 0.1
    decay: float = 0.9
    every: int = 3

    def __call__(self, reduced: Reduced, ground: Ground, nodes: Nodes, goal: Goal) -> Nodes:
        """The nodes with better slopes, pulls and duals for a goal."""
        single, goal = reduced.single, goal.single()
        used = reduced.places[goal.top - 1].stop if goal.top else 0
        lower, upper, signs = (x[:, :used].float() for x in (nodes.lower, nodes.upper, nodes.signs))
        slopes, pulls, duals = nodes.slopes[:, :used], nodes.pulls[:, :used], nodes.duals
        convex, up = reduced.convex[:used], upper > 0
        known = convex & ~((lower < 0) & up)
        decided = bool((signs != 0).any())
        best, highest = (slopes, pulls, duals), lower.new_full((len(nodes),), -torch.inf)
        moves = _Adam(), _Adam()
        scale = None
        for step in range(self.iterations):
            tick()
            now = lines(single, lower, upper, slopes)
            trace = descend(single, now, goal, signs * pulls if decided else None)
            least = ground.search(trace.straight, duals, None if step % self.every == 0 else 0)
            bound, duals = trace.constant + least.bound, least.duals
            better = bound > highest
            highest = torch.where(better, bound, highest)
            kept = _pick(better, duals, best[2]) if duals is not None else None
            best = _pick(better, slopes, best[0]), _pick(better, pulls, best[1]), kept
            if step == self.iterations - 1 or not used:
                break
            values = ascend(single, now, trace.weights, least.point)
            if scale is None:
                scale = trace.weights.abs().amax(1, keepdim=True)
            rate = self.decay**step
            climb = trace.weights.clamp(min=0) * values * convex
            slopes = (slopes + self.rate * rate * moves[0](climb)).clamp_(*single.span)
            if not step:
                agree = known & (torch.where(up, values, -values) > 0)
                slopes = torch.where(agree, now.above, slopes)
            if decided:
                more = self.pull_rate * rate * scale * moves[1](-signs * values)
                pulls = (pulls + more).clamp_(min=0) * signs.abs()
        whole = (_fill(best[0], nodes.slopes), _fill(best[1], nodes.pulls))
        return replace(nodes, slopes=whole[0], pulls=whole[1], duals=best[2])


class _Adam:
    """Steps of about unit size, entry by entry."""

    def __init__(self) -> None:
        self.mean: Tensor | None = None
        self.square: Tensor | None = None
        self.count = 0

    def __call__(self, gradient: Tensor) -> Tensor:
        if self.mean is None or self.square is None:
            self.mean, self.square = torch.zeros_like(gradient), torch.zeros_like(gradient)
        self.count += 1
        self.mean.lerp_(gradient, 0.1)
        self.square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        first, second = 1 - 0.9**self.count, 1 - 0.999**self.count
        return (self.mean / first) / ((self.square / second).sqrt_() + rounding.FLAT)


def _pick(better: Tensor, new: Tensor, old: Tensor | None) -> Tensor:
    """The new where it is better; where there was none of that shape, the new."""
    if old is None or new.shape != old.shape:
        return new
    return torch.where(better.view(-1, *(1,) * (new.dim() - 1)), new, old)


def _fill(part: Tensor, whole: Tensor) -> Tensor:
    """The first columns replaced."""
    if part.shape == whole.shape:
        return part
    return torch.cat([part, whole[:, part.shape[1] :]], dim=1)
