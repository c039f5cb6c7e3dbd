"""KRelu: linear programs that know of ReLUs in groups."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from warpcert.bound.known import Known
from warpcert.bound.layers import bound_layers
from warpcert.bound.substitution import Substitution
from warpcert.core import rounding
from warpcert.core.clock import left, tick
from warpcert.core.inputset import InputSet
from warpcert.core.interval import Interval
from warpcert.core.memory import chunk_size
from warpcert.core.polytope import Block, Floats, Ints, Rows
from warpcert.core.shapes import Float
from warpcert.net.relu import Relu
from warpcert.solve import Encoding, Polyhedral, Solution, Solver
from warpcert.solve.groups import groups
from warpcert.solve.relu_hull import ReluHulls, directions
from warpcert.verify.programs import LinearProgram, Setting

PATIENCE = 3
"""Rounds without a gain worth the name that end the search."""


@dataclass(frozen=True)
class KRelu(LinearProgram):
    """Linear programs with the joint convex hulls of groups of ``k`` ReLUs (2 or 3).

    In every layer the ``neurons`` with the largest triangles are put into partitions, see `groups`.
    What is known of a group is an octagon: bounds of all sums and differences of its inputs, by
    back-substitution with ``steps`` for the input set's duals. Its hull has more faces than a
    program needs, so those that the program's last solution breaks are added, for up to ``rounds``.
    ``rows`` are substituted at once.
    """

    k: int = 3
    neurons: int = 150
    steps: int = 10
    rounds: int = 12
    rows: int = 700

    def solve(self, setting: Setting, rows: Float[Tensor, "S classes"]) -> list[Solution]:
        value = len(setting.network)
        encoding, teams = self.encoding(setting), list(self._teams(setting))
        costs = [encoding.cost(value, row) for row in rows.cpu().numpy()]
        solver = Solver(replace(encoding.program, cost=costs[0]))
        plain = solver.program
        found = [self._ask(solver, cost) for cost in costs]
        for k in sorted(range(len(costs)), key=lambda k: found[k].bound):
            first = found[k]
            if solver.program is not plain:
                # what is cut off for one row is cut off for all
                first = max(first, self._ask(solver, costs[k]), key=lambda one: one.bound)
            found[k] = self._refine(solver, costs[k], first, encoding, teams)
            if not found[k].bound > self.settled and self.settled < math.inf:
                break  # all of them, or it does not matter
        return found

    def _refine(
        self, solver: Solver, cost: Floats, first: Solution, encoding: Encoding, teams: list[Team]
    ) -> Solution:
        """Add faces that solutions break, until that gains nothing, or enough is known.

        Groups whose hulls the last solution broke are looked at again, all of them only when that
        gains little: most of the time would go into hulls that are not broken.
        """
        best = last = first
        idle = 0
        faces: Faces = {}
        for _ in range(self.rounds):
            if best.bound > self.settled or idle == PATIENCE:
                break
            again = None if idle else _faces(teams, encoding, last, faces)
            faces = again or _faces(teams, encoding, last)
            if not faces:
                break
            solver.add(Rows.of([block for _, block in faces.values()]))
            last = self._ask(solver, cost)
            gain = last.bound - best.bound
            idle = 0 if gain > rounding.WORTH * abs(best.bound) else idle + 1
            best = last if gain > 0 else best
        return best

    def _least(self, known: Known, inputs: InputSet, rows: Tensor, source: int) -> Floats:
        """Lower bounds (R,) of rows of a value, by back-substitution, so many at once.

        Groups that come one after the other see the same part of the image, mostly.
        """
        stage = Substitution(steps=self.steps)
        size = min(self.rows, chunk_size(stage.row_bytes(known, source), rows.device))
        found = []
        for some in rows.split(size):
            tick()
            found.append(stage(known, inputs, some[None], source).bound[0].cpu().numpy())
        return np.concatenate(found)

    def _ask(self, solver: Solver, cost: Floats) -> Solution:
        tick()
        solver.time_limit = min(self.time_limit, max(0.0, left()))
        return solver.solve(cost)

    def _teams(self, setting: Setting) -> Iterator[Team]:
        """The groups of every layer of ReLUs, with their octagons."""
        double = torch.float64
        device = setting.where.device
        layers = {
            k: Interval(x.lower.to(device), x.upper.to(device)) for k, x in setting.layers.items()
        }
        inputs = setting.inputs
        if isinstance(inputs, Polyhedral):
            inputs = inputs.wrapped  # true bounds without one linear program for each
        known = bound_layers(setting.where.to(dtype=double), inputs, (), layers)
        for number in setting.network.activations:
            step = setting.network.steps[number - 1]
            if not isinstance(step.node, Relu):
                continue
            (source,) = step.inputs
            now = known.values[source]
            low, high = (x[0].flatten().cpu().numpy() for x in (now.lower, now.upper))
            chosen = _chosen(low, high, tuple(now.lower.shape[1:]), self.neurons)
            teams = groups(chosen, self.k)
            if not teams:
                continue
            members = np.stack(teams)
            limits = _by_intervals(members, self.k, low, high)
            joint = np.abs(directions(self.k)).sum(1) > 1  # of one neuron they are the best known
            rows = _sums(members, directions(self.k)[joint], now.lower[0])
            better = -self._least(known, inputs, -rows, source).reshape(len(members), -1)
            limits[:, joint] = np.minimum(limits[:, joint], better)
            hulls = ReluHulls(self.k, limits)
            yield Team(source, number, members, hulls, hulls.vertices())


@dataclass(frozen=True, eq=False)
class Team:
    """The groups (G, k) of one layer: which value they take, whose activation they are."""

    source: int
    number: int
    members: Ints
    hulls: ReluHulls
    vertices: list[Floats]

    def faces(self, encoding: Encoding, point: Floats, among: Ints | None) -> tuple[Ints, Block]:
        """Faces that a point breaks, one for each group that it is of; None: among all groups."""
        before = encoding.columns[self.source][self.members]
        after = encoding.columns[self.number][self.members]
        both = np.sort(np.concatenate([before, after], axis=1), axis=1)
        asked = np.asarray((both[:, 0] >= 0) & (np.diff(both, axis=1) > 0).all(1))  # none is twice
        if among is not None:
            asked &= np.isin(np.arange(len(asked)), among)
        x, y = point[before.clip(0)], point[after.clip(0)]
        which, alpha, beta, limit = self.hulls.cuts(x, y, self.vertices, rounding.WORTH, asked)
        columns = np.concatenate([before[which], after[which]], axis=1)
        values = np.concatenate([alpha, beta], axis=1)
        return which, Block(columns, values, np.full(len(which), -math.inf), limit)


Faces = dict[int, tuple[Ints, Block]]
"""Which groups of a team are broken, and by which rows, for those teams where any are."""


def _faces(
    teams: list[Team], encoding: Encoding, solution: Solution, among: Faces | None = None
) -> Faces:
    """Faces that a solution breaks; only of groups of other faces, where these are given."""
    if solution.point is None:
        return {}
    found = {}
    for place, team in enumerate(teams):
        if among is None or place in among:
            some = None if among is None else among[place][0]
            groups, block = team.faces(encoding, solution.point, some)
            if len(groups):
                found[place] = (groups, block)
    return found


def _chosen(low: Floats, high: Floats, shape: tuple[int, ...], most: int) -> list[int]:
    """Open neurons with the largest triangles; those at one place of an image side by side."""
    area = np.where((low < 0) & (high > 0), -low * high, 0.0)
    best = np.argsort(-area, kind="stable")[:most]
    best = best[area[best] > 0]
    if len(shape) == 3:
        _, height, width = np.unravel_index(best, shape)
        best = best[np.lexsort((-area[best], width // 2, height // 2))]
    return best.tolist()


def _sums(members: Ints, weights: Floats, like: Tensor) -> Tensor:
    """Rows (G * D, ...) that add up a group's entries with weights (D, k)."""
    rows = torch.zeros((len(members), len(weights), like.numel()), dtype=torch.float64)
    for i in range(weights.shape[1]):
        at = torch.from_numpy(members[:, i])[:, None, None].expand(-1, len(weights), 1)
        column = torch.from_numpy(weights[:, i])[None, :, None].expand(len(members), -1, 1)
        rows.scatter_(2, at, column)
    return rows.flatten(0, 1).unflatten(1, like.shape).to(like.device)


def _by_intervals(members: Ints, k: int, low: Floats, high: Floats) -> Floats:
    """Upper bounds (G, D) of the same sums by intervals, rounded up."""
    weights = directions(k)
    ends = np.where(weights > 0, high[members][:, None], low[members][:, None])
    terms = np.where(weights == 0, 0.0, weights * ends)
    return terms.sum(-1) + rounding.summation(k) * np.abs(terms).sum(-1)
