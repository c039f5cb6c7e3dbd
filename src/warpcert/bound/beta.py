"""Beta: bounds of nodes, by slopes and multipliers of their decisions made better together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from warpcert.bound.ground import Ground
from warpcert.bound.nodes import Nodes
from warpcert.bound.reduced import Reduced
from warpcert.core import rounding
from warpcert.core.clock import tick


class Lines(NamedTuple):
    """The lines around all hinges of M rows, each (M, U); intercepts below are often zero."""

    below: Tensor
    above: Tensor
    rise: Tensor
    drop: Tensor | None = None


class Trace(NamedTuple):
    """What a row met on its way down: its weights (M, U) at the hinges, and what it ended as."""

    weights: Tensor
    straight: Tensor
    constant: Tensor


class Goal(NamedTuple):
    """What is bounded for each of N nodes: a row (N, P + earlier units) of blocks before ``top``.

    ``size`` and ``error`` (N,) are those of `Block`.
    """

    row: Tensor
    constant: Tensor
    size: Tensor
    error: Tensor
    top: int

    @staticmethod
    def margins(reduced: Reduced, nodes: Nodes) -> Goal:
        """Every node's own margin."""
        block, rows = reduced.margins, nodes.rows
        numbers = (x[rows] for x in (block.matrix, block.constant, block.size, block.error))
        return Goal(*numbers, len(reduced.blocks))

    @staticmethod
    def neurons(reduced: Reduced, number: int, entries: Tensor, signs: Tensor) -> Goal:
        """The inputs of some neurons of a block, or minus them, by ``signs`` (N,)."""
        block = reduced.blocks[number]
        row, constant = signs[:, None] * block.matrix[entries], signs * block.constant[entries]
        return Goal(row, constant, block.size[entries], block.error[entries], number)


class Search(NamedTuple):
    """Where an ascent stopped: bounds (N,), slopes, pulls and duals."""

    bound: Tensor
    slopes: Tensor
    pulls: Tensor
    duals: Tensor | None


class Seen(NamedTuple):
    """A relaxation's minimum for every node: points (N, P), values z (N, U), weights (N, U)."""

    bound: Tensor
    point: Tensor
    values: Tensor
    weights: Tensor
    straight: Tensor
    lines: Lines


def lines(reduced: Reduced, lower: Tensor, upper: Tensor, slopes: Tensor) -> Lines:
    """Lines for a search: slopes as given where a hinge is bent, its own where it is not."""
    below, above, rise = torch.empty_like(lower), torch.empty_like(lower), torch.empty_like(lower)
    for block, place in zip(reduced.blocks, reduced.places, strict=True):
        if place.stop > lower.shape[1]:
            break
        assert block.node is not None
        low, high = lower[:, place], upper[:, place]
        left, right = block.node.sides
        bent = (low < 0) & (high > 0)
        width = torch.where(bent, high - low, 1.0)
        chord = torch.where(bent, (right * high - left * low) / width, 0.0)
        side = torch.where(high > 0, right, torch.full_like(low, left))
        inner = slopes[:, place].clamp(min(left, right), max(left, right))
        up, down = (chord, inner) if left <= right else (inner, chord)
        below[:, place] = torch.where(bent, down, side)
        above[:, place] = torch.where(bent, up, side)
        rise[:, place] = torch.where(bent, (right - up) * high, 0.0) if left <= right else 0.0
    return Lines(below, above, rise)


def descend(
    reduced: Reduced, lines: Lines, start: Tensor, constant: Tensor, pulls: Tensor | None, top: int
) -> Trace:
    """Substitute rows (M, P + U) back through blocks top - 1, ..., 0, in a search."""
    pixels = len(reduced.pixels)
    row, weights = start, []
    for number in range(top - 1, -1, -1):
        block, place = reduced.blocks[number], reduced.places[number]
        a = row[:, pixels + place.start : pixels + place.stop]
        up, down = a.clamp(min=0), a.clamp(max=0)
        p = up * lines.below[:, place] + down * lines.above[:, place]
        constant = constant + (down * lines.rise[:, place]).sum(1)
        if lines.drop is not None:
            constant = constant + (up * lines.drop[:, place]).sum(1)
        if pulls is not None:
            p = p - pulls[:, place]
        weights.append(a)
        width = pixels + place.start
        row = torch.addmm(row[:, :width], p, block.matrix)
        constant = torch.addmv(constant, p, block.constant)
    width = reduced.places[top - 1].stop if top else 0
    whole = torch.cat(weights[::-1], dim=1) if weights else row.new_zeros((len(row), width))
    return Trace(whole, row, constant)


def rise_up(reduced: Reduced, lines: Lines, weights: Tensor, point: Tensor) -> Tensor:
    """Values z (N, U) of the relaxation at points: each hinge is on the line its row took."""
    known = point
    values = []
    for block, place in zip(reduced.blocks, reduced.places, strict=True):
        if place.stop > weights.shape[1]:
            break
        z = torch.addmm(block.constant, known, block.matrix.T)
        below = lines.below[:, place] * z
        above = lines.above[:, place] * z + lines.rise[:, place]
        values.append(z)
        known = torch.cat([known, torch.where(weights[:, place] > 0, below, above)], dim=1)
    return torch.cat(values, dim=1) if values else point[:, :0]


@dataclass(frozen=True)
class Beta:
    """Adam on slopes and pulls in float32, then one careful evaluation in float64.

    Sound whatever the search does: with a neuron's input z decided to be s z >= 0 and any pull
    beta >= 0, the margin is at least margin - beta s z wherever the decision holds, and that is
    bounded from below over the whole set. Every so many iterations the input set's duals are
    made better, too.
    """

    iterations: int = 10
    rate: float = 0.1
    pull_rate: float = 0.1
    decay: float = 0.9
    every: int = 3

    def search(self, reduced: Reduced, ground: Ground, nodes: Nodes, goal: Goal) -> Search:
        """Good slopes and pulls for every node; proves nothing."""
        single = reduced.single
        top, start, constant = goal.top, goal.row.float(), goal.constant.float()
        used = reduced.places[top - 1].stop if top else 0
        lower, upper, signs = (x[:, :used].float() for x in (nodes.lower, nodes.upper, nodes.signs))
        decided = bool((signs != 0).any())
        bent = (lower < 0) & (upper > 0)
        slopes, pulls, duals = nodes.slopes[:, :used], nodes.pulls[:, :used], nodes.duals
        base = lines(single, lower, upper, slopes)
        highest = lower.new_full((len(nodes),), -torch.inf)
        best = (slopes, pulls, duals)
        adam = _Adam(slopes), _Adam(pulls)
        scale = None
        convex = single.convex[:used]
        for step in range(self.iterations):
            tick()
            below = torch.where(bent & convex, slopes, base.below)
            now = Lines(below, base.above, base.rise)
            pulled = signs * pulls if decided else None
            trace = descend(single, now, start, constant, pulled, top)
            least = ground.search(trace.straight, duals, None if step % self.every == 0 else 0)
            bound = trace.constant + least.bound
            better = bound > highest
            highest = torch.where(better, bound, highest)
            pick = better[:, None]
            kept = least.duals
            if kept is not None and best[2] is not None and best[2].shape == kept.shape:
                shape = (-1,) + (1,) * (kept.dim() - 1)
                kept = torch.where(better.view(shape), kept, best[2])
            best = torch.where(pick, slopes, best[0]), torch.where(pick, pulls, best[1]), kept
            duals = least.duals
            if step == self.iterations - 1:
                break
            values = rise_up(single, now, trace.weights, least.point)
            if scale is None:
                scale = trace.weights.abs().amax(1, keepdim=True)
            rate = self.decay**step
            climb = trace.weights.clamp(min=0) * values * bent
            slopes = (slopes + self.rate * rate * adam[0](climb)).clamp_(0, 1)
            if decided:
                pull = adam[1](-signs * values)
                pulls = (pulls + self.pull_rate * rate * scale * pull).clamp_(min=0) * signs.abs()
        return Search(highest, *best)


def careful(
    reduced: Reduced,
    ground: Ground,
    nodes: Nodes,
    goal: Goal,
    found: Search | None,
    steps: int | None = 0,
) -> tuple[Tensor, Tensor | None]:
    """Sound lower bounds of rows over nodes in float64, one row (M, P + U) for each node.

    Sound, because at a block z = M (x, u) + c up to its error, <p, z> = <M^T p, (x, u)> + <p, c>,
    and a hinge's a+ u + a- u is at least a+ times the line below plus a- times the line above;
    subtracting pull * sign * z, which is never negative where the decisions hold, only lowers it.
    All that is rounded is paid for by `rounding.backward` times |p| times the sizes, and each
    block's own error by |p| times that. NaN proves nothing.
    """
    row, constant, size, error, top = goal
    pixels, count = len(reduced.pixels), pixels_and_units(reduced)
    lost = size  # what rounding grows with
    paid = error
    for number in range(top - 1, -1, -1):
        block, place = reduced.blocks[number], reduced.places[number]
        assert block.node is not None
        lower, upper = nodes.lower[:, place], nodes.upper[:, place]
        a = row[:, pixels + place.start : pixels + place.stop]
        slope = None
        if found is not None and block.node.sides[0] <= block.node.sides[1]:
            bent = block.node.bent(lower, upper)
            given = found.slopes[:, place].to(lower).nan_to_num().clamp(*block.node.sides)
            slope = torch.where(bent, given, block.node.slopes(lower, upper)[0])
        band = block.node.band(lower, upper, slope)
        up, down = a.clamp(min=0), a.clamp(max=0)
        p = up * band.below.slope + down * band.above.slope
        magnitude = reduced.magnitude[place]
        constant = constant + (up * band.below.intercept + down * band.above.intercept).sum(1)
        lost = lost + (up * band.below.intercept.abs() - down * band.above.intercept.abs()).sum(1)
        lost = lost + 2 * (p.abs() @ magnitude)
        if found is not None:
            pull = found.pulls[:, place].to(p).clamp(min=0) * nodes.signs[:, place].to(p)
            p = p - pull
            lost = lost + pull.abs() @ magnitude
        lost = lost + p.abs() @ (block.size + magnitude)
        paid = paid + p.abs() @ block.error
        row = torch.addmm(row[:, : pixels + place.start], p, block.matrix)
        constant = torch.addmv(constant, p, block.constant)
    least = ground.prove(row, None if found is None else found.duals, steps)
    unit = rounding.backward(count, 2 * top + 2)
    floor = rounding.underflow(count) * (count + float(reduced.magnitude.sum()))
    total = constant + least.bound
    slack = unit * lost + paid * (1 + unit) + floor + rounding.FAINT
    slack = slack + rounding.summation(4) * (constant.abs() + least.bound.abs() + slack)
    bound = total - slack
    fine = torch.isfinite(row).all(1)
    return torch.where(fine & ~torch.isnan(bound), bound, -torch.inf), least.duals


def pixels_and_units(reduced: Reduced) -> int:
    """How many numbers a row has."""
    return len(reduced.pixels) + len(reduced)


class _Adam:
    """Steps of about unit size, entry by entry."""

    def __init__(self, like: Tensor) -> None:
        self.mean, self.square, self.count = torch.zeros_like(like), torch.zeros_like(like), 0

    def __call__(self, gradient: Tensor) -> Tensor:
        self.count += 1
        self.mean.lerp_(gradient, 0.1)
        self.square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        first, second = 1 - 0.9**self.count, 1 - 0.999**self.count
        return (self.mean / first) / ((self.square / second).sqrt() + 1e-8)
