"""Hulls of groups of ReLUs: every face holds, and together they are the hull."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from warpcert.core.polytope import Block, Rows
from warpcert.solve import Program, Solver, solve
from warpcert.solve.groups import groups
from warpcert.solve.relu_hull import ReluHulls, directions

INF = np.inf


def octagons(k: int, count: int, seed: int = 0) -> tuple[ReluHulls, np.ndarray]:
    """Groups whose inputs are linear in five pixels of [-1, 1], and samples (G, n, k) of them."""
    random = np.random.default_rng(seed)
    weight, bias = random.normal(size=(count, k, 5)), 0.5 * random.normal(size=(count, k))
    along = directions(k)
    limits = np.abs(np.einsum("dk,gkm->gdm", along, weight)).sum(-1) + bias @ along.T
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=5)))
    pixels = np.concatenate([corners, random.uniform(-1, 1, size=(200, 5))])
    return ReluHulls(k, limits), pixels @ weight.transpose(0, 2, 1) + bias[:, None]


def exact_limit(k: int, limits: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> float:
    """The most of alpha . x + beta . relu(x), by one linear program for each orthant."""
    along, best = directions(k), -INF
    columns = np.broadcast_to(np.arange(k), along.shape)
    rows = Rows.of([Block(columns, along, np.full(len(along), -INF), limits)])
    for signs in itertools.product((0.0, 1.0), repeat=k):
        on = np.array(signs)
        far = 1 + np.abs(limits).max()
        found = solve(Program(-(alpha + beta * on), (on - 1) * far, on * far, rows))
        if found.status.value == "optimal":
            best = max(best, -found.claim)
    return best


@pytest.mark.parametrize("k", [2, 3])
def test_limits_are_the_maximum(k: int) -> None:
    hulls, _ = octagons(k, 12)
    alpha, beta = np.random.default_rng(1).normal(size=(2, 12, k))
    limit = hulls.limit(np.arange(12), alpha, beta)
    for g in range(12):
        truth = exact_limit(k, hulls.limits[g], alpha[g], beta[g])
        assert limit[g] == pytest.approx(truth, abs=1e-6)
        assert limit[g] >= truth - 1e-9


@pytest.mark.parametrize("k", [2, 3])
def test_limits_hold_for_what_groups_can_be(k: int) -> None:
    """In rational arithmetic: corners of the pixels are members, whatever rounding does."""
    hulls, samples = octagons(k, 30)
    alpha, beta = np.random.default_rng(2).normal(size=(2, 30, k))
    limit = hulls.limit(np.arange(30), alpha, beta)
    for g in range(30):
        for x in samples[g, :32]:
            terms = zip(alpha[g], beta[g], x, strict=True)
            value = sum(Fraction(a) * Fraction(z) + Fraction(b) * max(Fraction(z), Fraction(0))
                        for a, b, z in terms)  # fmt: skip
            assert value <= Fraction(limit[g]) + Fraction(1e-12)  # samples are rounded, too


@pytest.mark.parametrize("k", [2, 3])
def test_limits_hold_for_octagons_that_are_nearly_flat(k: int) -> None:
    """Inputs that are equal up to 1e-12, and limits with noise of their own size."""
    random = np.random.default_rng(3)
    along = directions(k)
    base = np.abs(along.sum(1)) * 1.0 + 1e-12 * random.uniform(size=(20, len(along)))
    hulls = ReluHulls(k, base)
    alpha, beta = random.normal(size=(2, 20, k))
    limit = hulls.limit(np.arange(20), alpha, beta)
    for t in np.linspace(-1, 1, 21):
        x = np.full(k, t)
        assert (alpha @ x + beta @ np.maximum(x, 0) <= limit).all()
    assert (limit < 10 * k).all()


@pytest.mark.parametrize("k", [2, 3])
def test_vertices_are_those_of_the_hull(k: int) -> None:
    """The largest value over vertices is the limit: none is missing, none is outside."""
    hulls, _ = octagons(k, 10, seed=4)
    vertices = hulls.vertices()
    for alpha, beta in np.random.default_rng(5).normal(size=(5, 2, 10, k)):
        limit = hulls.limit(np.arange(10), alpha, beta)
        most = [
            float((v @ a + np.maximum(v, 0) @ b).max())
            for v, a, b in zip(vertices, alpha, beta, strict=True)
        ]
        assert limit == pytest.approx(most, abs=1e-8)


@pytest.mark.parametrize(("k", "count"), [(2, 6), (3, 3)])
def test_faces_added_one_by_one_are_as_good_as_all_that_qhull_finds(k: int, count: int) -> None:
    hulls, _ = octagons(k, count, seed=6)
    vertices = hulls.vertices()
    random = np.random.default_rng(7)
    for g in range(count):
        lifted = np.concatenate([vertices[g], np.maximum(vertices[g], 0)], axis=1)
        faces = ConvexHull(lifted).equations
        far = np.full(2 * k, 1 + np.abs(lifted).max())
        cost = random.normal(size=2 * k)
        cost[k:] -= 1.5 * np.abs(random.normal(size=k))  # upwards, where triangles are loose
        columns = np.broadcast_to(np.arange(2 * k), faces[:, :-1].shape)
        every = Rows.of([Block(columns, faces[:, :-1], np.full(len(faces), -INF), -faces[:, -1])])
        wanted = solve(Program(cost, -far, far, every)).claim
        assert wanted == pytest.approx(float((lifted @ cost).min()), abs=1e-6)
        solver = Solver(Program(cost, -far, far, Rows.of([])))
        one = ReluHulls(k, hulls.limits[g : g + 1])
        for _ in range(60):
            found = solver.solve(cost)
            assert found.point is not None
            x, y = found.point[None, :k], found.point[None, k:]
            which, alpha, beta, limit = one.cuts(x, y, [vertices[g]], 1e-9)
            if not len(which):
                break
            row = np.concatenate([alpha, beta], axis=1)
            solver.add(Rows.of([Block(np.arange(2 * k)[None], row, np.array([-INF]), limit)]))
        assert found.bound == pytest.approx(wanted, abs=1e-5)


def test_two_relus_by_hand() -> None:
    """x1 = x and x2 = -x on [-1, 1]: relu(x1) + relu(x2) = |x| <= 1."""
    along = directions(2)
    hulls = ReluHulls(2, np.abs(along @ np.array([1.0, -1.0]))[None])
    one = np.ones((1, 2))
    assert hulls.limit(np.zeros(1, int), 0 * one, one) == pytest.approx(1.0)
    point = np.array([[0.0, 0.0]]), np.array([[0.5, 0.5]])
    assert not len(hulls.cuts(*point, hulls.vertices(), 1e-6)[0])  # 0.5 + 0.5 is allowed
    beyond = np.array([[0.0, 0.0]]), np.array([[0.5, 0.6]])
    which, alpha, beta, limit = hulls.cuts(*beyond, hulls.vertices(), 1e-6)
    assert which.tolist() == [0]
    assert (alpha * beyond[0]).sum() + (beta * beyond[1]).sum() > limit


# Groups


@pytest.mark.parametrize("count", range(2, 40))
def test_every_two_of_a_partition_meet(count: int) -> None:
    neurons = [10 * n for n in range(count)]
    for k in (2, 3):
        met = {
            frozenset(pair)
            for group in groups(neurons, k)
            for pair in itertools.combinations(group.tolist(), 2)
        }
        for first in range(0, count, 15):
            part = neurons[first : first + 15]
            if len(part) >= k:
                wanted = {frozenset(pair) for pair in itertools.combinations(part, 2)}
                assert wanted <= met


def test_fifteen_neurons_need_thirty_five_triples() -> None:
    found = groups(range(15), 3)
    assert len(found) == 35
    pairs = [frozenset(p) for g in found for p in itertools.combinations(g.tolist(), 2)]
    assert len(pairs) == len(set(pairs)) == 105


def test_other_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="groups must be of 2 or 3 neurons, got k = 4"):
        groups(range(15), 4)
