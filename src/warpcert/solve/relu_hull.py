"""ReluHulls: the convex hulls of groups of ReLUs over octagon-like bounds of their inputs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from warpcert.core import rounding
from warpcert.core.polytope import Floats, Ints, Rows
from warpcert.solve.program import Program, Solver

CHUNK = 64
"""Groups treated at once: their vertices are looked for among some thousand candidates each."""


@cache
def directions(k: int) -> Floats:
    """All (3**k - 1, k) vectors of -1, 0 and 1 but the zero vector."""
    every = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=k)))
    return every[np.abs(every).sum(1) > 0]


@cache
def _bases(k: int) -> tuple[Ints, Floats]:
    """Choices (n, k) of k planes that meet in one point, and their inverse matrices (n, k, k).

    The planes are a . x = b for the directions, and then x_i = 0.
    """
    planes = np.concatenate([directions(k), np.eye(k)])
    choices = np.array(list(itertools.combinations(range(len(planes)), k)))
    matrices = planes[choices]
    regular = np.abs(np.linalg.det(matrices)) > 0.5  # they are whole numbers
    return choices[regular], np.linalg.inv(matrices[regular])


@dataclass(frozen=True, eq=False)
class ReluHulls:
    """Groups of k ReLUs with inputs x such that a . x <= limits for all `directions` a.

    ``limits`` is (G, 3**k - 1), proved. A ReLU is linear on each orthant, so the hull of all
    (x, relu(x)) is that of the finitely many points where k planes meet: the octagon's own and
    those between orthants.
    """

    k: int
    limits: Floats

    def vertices(self) -> list[Floats]:
        """For each group the points (m, k) where planes meet, within the octagon, each once."""
        choices, inverses = _bases(self.k)
        a, found = directions(self.k), []
        size = self._size()
        for first in range(0, len(self.limits), CHUNK):
            limits = self.limits[first : first + CHUNK]
            ends = np.concatenate([limits, np.zeros((len(limits), self.k))], axis=1)
            points = np.einsum("nij,gnj->gni", inverses, ends[:, choices])
            slack = rounding.CORNER * size[first : first + CHUNK]
            inside = ((points @ a.T) <= (limits + slack[:, None])[:, None]).all(-1)
            for group, which, grain in zip(points, inside, slack, strict=True):
                rounded = np.round(group[which] / grain) if grain > 0 else group[which]
                found.append(group[which][np.unique(rounded, axis=0, return_index=True)[1]])
        return found

    def limit(self, groups: Ints, alpha: Floats, beta: Floats) -> Floats:
        """Upper bounds (n,) of alpha . x + beta . relu(x) over the octagons of some groups.

        Sound for any alpha and beta (n, k), by weak duality on every orthant: with s the signs, it
        is g . x for g = alpha + s beta, and at most y . b + |g - A^T y| . |x| for any multipliers
        y of rows A x <= b with the right signs. The y tried are those of every choice of k planes,
        clipped; the least over them is one of the bounds, and the largest over orthants is taken.
        """
        choices, inverses = _bases(self.k)
        planes = np.concatenate([directions(self.k), np.eye(self.k)])[choices]
        beyond = choices - len(directions(self.k))  # which x_i = 0, if not negative
        best = np.full(len(groups), -np.inf)
        ends = np.concatenate([self.limits, np.zeros((len(self.limits), self.k))], axis=1)
        for first in range(0, len(groups), CHUNK):
            some = slice(first, first + CHUNK)
            end = ends[groups[some]][:, choices]
            reach = self._reach()[groups[some]]
            for signs in itertools.product((0.0, 1.0), repeat=self.k):
                g = alpha[some] + beta[some] * np.array(signs)
                y = np.einsum("nij,gi->gnj", inverses, g)
                wanted = np.where(np.array(signs)[beyond.clip(0)] > 0, -1.0, 1.0)
                wanted = np.where(beyond >= 0, wanted, 1.0)
                y = np.where(y * wanted > 0, y, 0.0)
                rest = np.abs(g[:, None] - np.einsum("nji,gnj->gni", planes, y))
                total = (y * end).sum(-1) + (rest * reach[:, None]).sum(-1)
                size = (np.abs(y) * (np.abs(end) + reach.sum(-1)[:, None, None])).sum(-1)
                size += (np.abs(g) * reach).sum(-1)[:, None]
                lost = rounding.summation(8 * self.k) * size + rounding.FAINT
                best[some] = np.maximum(best[some], (total + lost).min(1))
        return best

    def cuts(
        self,
        x: Floats,
        y: Floats,
        vertices: list[Floats],
        least: float,
        among: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Ints, Floats, Floats, Floats]:
        """Inequalities alpha . x + beta . relu(x) <= limit that points (G, k) x, y break.

        One for each group ``among`` them whose hull leaves its point out by more than ``least``:
        its number, alpha, beta and limit, the deepest with coefficients between -1 and 1.
        """
        outside = (x @ directions(self.k).T > self.limits + least).any(1)
        off = np.abs(y - np.maximum(x, 0)).sum(1) > least
        asked = outside | off
        numbers, rows = [], []
        for number in (asked if among is None else asked & among).nonzero()[0].tolist():
            corners = vertices[number]
            lifted = np.concatenate([corners, np.maximum(corners, 0)], axis=1)
            row, depth = _separate(lifted, np.concatenate([x[number], y[number]]))
            if depth > least:
                numbers.append(number)
                rows.append(row)
        if not numbers:
            none = np.zeros((0, self.k))
            return np.zeros(0, np.int64), none, none, np.zeros(0)
        which, both = np.array(numbers), np.array(rows)
        alpha, beta = both[:, : self.k], both[:, self.k :]
        limit = self.limit(which, alpha, beta)
        broken = (alpha * x[which]).sum(1) + (beta * y[which]).sum(1) > limit + least / 2
        return which[broken], alpha[broken], beta[broken], limit[broken]

    def _reach(self) -> Floats:
        """The largest |x_i| of every group (G, k)."""
        a = directions(self.k)
        places = [np.abs(np.abs(a) - one).sum(1) == 0 for one in np.eye(self.k)]
        return np.stack([np.abs(self.limits[:, at]).max(1) for at in places], axis=1)

    def _size(self) -> Floats:
        return self._reach().max(1)


def _separate(points: Floats, at: Floats) -> tuple[Floats, float]:
    """The row, with entries between -1 and 1, along which ``at`` is furthest beyond all points."""
    width = len(at)
    far = float(np.abs(points).sum(1).max()) + 1.0
    count = len(points)
    rows = Rows(
        np.arange(count + 1) * (width + 1),
        np.tile(np.arange(width + 1), count),
        np.concatenate([points, np.full((count, 1), -1.0)], axis=1).ravel(),
        np.full(count, -np.inf),
        np.zeros(count),
    )
    cost = np.concatenate([-at, [1.0]])
    ends = np.concatenate([np.ones(width), [far]])
    found = Solver(Program(cost, -ends, ends, rows)).solve(cost)
    if found.point is None:
        return np.zeros(width), 0.0
    return found.point[:width], -float(cost @ found.point)
