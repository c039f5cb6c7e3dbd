"""polytope: every bent image satisfies its rows, and the rows say no less than they should."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.flow.agree import NORMS, Border, cut
from tests.flow.pictures import OVERVIEW, draw, picture
from tests.oracle import tinf_candidates, value
from tests.oracle.programs import _minimise
from warpcert import Threat, pixel_bounds, pixel_planes, support, warp
from warpcert.core.polytope import Polytope
from warpcert.flow.polytope import Relaxation, polytope
from warpcert.flow.region import Region
from warpcert.solve import Program, Status, solve

DOUBLE = torch.float64
RELAXATIONS: tuple[Relaxation, ...] = get_args(Relaxation)
FLOWING: tuple[Relaxation, ...] = ("planes", "hull")
GAMMAS = (0.0, 0.05, 0.3, math.inf)
ROUNDING = 1e-13
"""What evaluating a row or a warped image costs."""
NEAR = 1e-7
"""How far HiGHS may stay from the optimum, or outside the constraints."""


def lowest(made: Polytope, row: Tensor) -> float:
    """The least <row, image> over a polytope."""
    solution = solve(Program.over(made, row.numpy()))
    assert solution.status is Status.OPTIMAL
    return solution.claim


def pinned(made: Polytope, field: Tensor, image: Tensor | None = None, by: float = 0.0) -> Polytope:
    """The polytope with the field, and perhaps the image, held where they are, give or take."""
    lower, upper = made.lower.copy(), made.upper.copy()
    for index, values in ((made.parameters, field), (made.image, image)):
        if values is not None:
            lower[index], upper[index] = values.numpy() - by, values.numpy() + by
    return replace(made, lower=lower, upper=upper)


def holds(made: Polytope, field: Tensor, image: Tensor) -> bool:
    """Whether a field and its image are part of a point of the polytope.

    Rows of theirs alone are evaluated; whether weights can be found for the others, HiGHS says.
    """
    known, rows = made.image.size + made.parameters.size, made.rows
    point = np.zeros_like(made.lower)
    point[made.image], point[made.parameters] = image.numpy(), field.numpy()
    weighed = np.bincount(rows.numbers, rows.columns >= known, len(rows)) > 0
    beyond = [made.lower - point, point - made.upper]
    beyond += [
        part[~weighed] for part in (rows.lower - rows.times(point), rows.times(point) - rows.upper)
    ]
    if not np.concatenate(beyond).max() <= ROUNDING:
        return False
    inside = pinned(made, field, image, ROUNDING)
    return len(point) == known or solve(Program.over(inside)).status is Status.OPTIMAL


# Members


THREATS: list[tuple[float, float, Border]] = [
    (0.4, 0.05, "clamp"),
    (0.4, 0.0, "inside"),
    (1.1, 0.3, "inside"),
    (1.1, math.inf, "clamp"),
]


@pytest.mark.parametrize(
    ("relaxation", "norm", "about"),
    [("box", 2.0, THREATS[2]), ("planes", 2.0, THREATS[0]), ("planes", 1.0, THREATS[2])]
    + [("planes", math.inf, threat) for threat in THREATS]
    + [("hull", norm, threat) for norm in NORMS for threat in THREATS],
)
def test_members_satisfy_every_row(
    relaxation: Relaxation, norm: float, about: tuple[float, float, Border]
) -> None:
    threat = Threat(norm, *about)
    images = torch.cat([picture("random", 3, 4, 5), picture("real", 3, 4, 5)])
    made = polytope(images, threat, relaxation)
    for field in threat.sample((4, 5), 32, generator=draw(0)):
        for bent, some in zip(warp(images, field[None]), made, strict=True):
            assert holds(some, field, bent)


def test_what_is_not_a_member_is_told_from_one() -> None:
    images = picture("random", 3, 4, 5)
    threat = Threat("inf", 0.5, 0.2)
    field = torch.full((4, 5, 2), 0.5, dtype=DOUBLE)
    bent = warp(images, field[None])[0]
    for relaxation in FLOWING:
        (made,) = polytope(images, threat, relaxation)
        assert holds(made, field, bent)
        assert not holds(made, field.flip(-1) * 1.1, bent)
        step = field.clone()
        step[2:, :, 0] -= 0.21  # one row of pixels moves away from the next by more than gamma
        assert not holds(made, step, warp(images, step[None])[0])
        step = field.clone()
        step[:, 3:, 1] -= 0.21
        assert not holds(made, step, warp(images, step[None])[0])


@pytest.mark.parametrize(
    ("norm", "relaxation"),
    [(math.inf, "planes"), (math.inf, "box"), *((norm, "hull") for norm in NORMS)],
)
def test_a_part_of_the_threat(norm: float, relaxation: Relaxation) -> None:
    # Displacements to the right and up, further out the further right: no box holds the origin.
    threat, images = Threat(norm, 0.8, 0.2), picture("random", 3, 3, 4, batch=2)
    slant = 0.02 * torch.arange(4, dtype=DOUBLE)[:, None]
    lower = (torch.tensor([0.1, -0.4], dtype=DOUBLE) + slant).expand(2, 1, 3, 4, 2).clone()
    lower[1] += 0.05
    region = Region(norm, 0.8, lower, lower + 0.2)
    parts = polytope(images, threat, relaxation, region)
    whole = polytope(images, threat, relaxation)
    row = torch.randn((3, 3, 4), dtype=DOUBLE)
    for k, (part, all_of_it) in enumerate(zip(parts, whole, strict=True)):
        assert lowest(part, row) > lowest(all_of_it, row) + 1e-2
        for share in torch.rand((10, 1, 1, 2), dtype=DOUBLE, generator=draw(0)).round(decimals=1):
            field = lower[k, 0] + 0.2 * share
            assert threat.contains(field[None])
            assert holds(part, field, warp(images[[k]], field[None])[0])


@pytest.mark.parametrize(
    ("norm", "relaxation"), [(math.inf, "planes"), *((norm, "hull") for norm in NORMS)]
)
def test_images_of_one_row_and_flat_ones(norm: float, relaxation: Relaxation) -> None:
    pictures = [("random", 3, 1, 6), ("random", 1, 6, 1), ("constant", 3, 3, 3)]
    for images in (picture(*about) for about in pictures):
        shape = (images.shape[2], images.shape[3])
        threat = Threat(norm, 0.7, 0.2)
        (made,) = polytope(images, threat, relaxation)
        for field in threat.sample(shape, 10, generator=draw(0)):
            assert holds(made, field, warp(images, field[None])[0])


@pytest.mark.parametrize("relaxation", RELAXATIONS)
@pytest.mark.parametrize("norm", NORMS)
def test_nothing_moves_without_delta(norm: float, relaxation: Relaxation) -> None:
    images = picture("random", 3, 3, 4)
    (made,) = polytope(images, Threat(norm, 0.0, 0.1), relaxation)
    row = torch.randn((3, 3, 4), dtype=DOUBLE)
    for sign in (1, -1):
        assert lowest(made, sign * row) == pytest.approx(float((sign * row * images[0]).sum()))


# Batches and misuse


def test_one_polytope_for_each_image() -> None:
    images = picture("random", 2, 2, 3, batch=3)
    for norm, relaxation in ((1.0, RELAXATIONS[0]), *((math.inf, name) for name in RELAXATIONS)):
        threat = Threat(norm, 0.4, 0.1)
        together = polytope(images, threat, relaxation)
        assert [made.image.shape for made in together] == [(2, 2, 3)] * 3
        assert [made.parameters.shape for made in together] == [(2, 3, 2)] * 3
        for k, made in enumerate(together):
            (alone,) = polytope(images[[k]], threat, relaxation)
            assert np.array_equal(made.lower, alone.lower)
            assert np.array_equal(made.rows.values, alone.rows.values)
            assert np.array_equal(made.rows.lower, alone.rows.lower)


@pytest.mark.usefixtures("unwatched")
def test_other_relaxations_are_refused() -> None:
    wrong: Any = "plane"
    with pytest.raises(ValueError, match="relaxation must be one of 'hull', 'planes', 'box'"):
        polytope(picture("random", 1, 3, 3), Threat(), wrong)


# The field


def furthest(made: Polytope, i: int, j: int, x: float, y: float) -> float:
    """The largest x dx + y dy of a pixel over a polytope."""
    cost = np.zeros_like(made.lower)
    cost[made.parameters[i, j]] = -x, -y
    return -solve(replace(Program.over(made), cost=cost)).claim


@pytest.mark.parametrize("relaxation", FLOWING)
def test_a_displacement_reaches_the_ball_and_no_further(relaxation: Relaxation) -> None:
    images, delta = picture("constant", 1, 3, 4), 0.6
    for gamma in (0.1, math.inf):
        made = {n: polytope(images, Threat(n, delta, gamma), relaxation)[0] for n in NORMS}
        for x, y in [(1, 0), (1, 1), (-1, 1), (-1, -3), (0.3, 1.7)]:
            exact = {1: max(abs(x), abs(y)), 2: math.hypot(x, y), math.inf: abs(x) + abs(y)}
            found = {n: furthest(made[n], 1, 2, x, y) / delta for n in NORMS}
            assert found[1] == pytest.approx(exact[1])
            assert found[math.inf] == pytest.approx(exact[math.inf])
            polygon = exact[2] / math.cos(math.pi / 16)
            assert exact[2] - NEAR <= found[2] <= polygon + NEAR


def test_inside_pixels_do_not_point_outside() -> None:
    for relaxation in FLOWING:
        threat = Threat("inf", 0.6, 0.1, "inside")
        (made,) = polytope(picture("random", 1, 3, 4), threat, relaxation)
        assert furthest(made, 0, 1, 0, -1) == pytest.approx(0)
        assert furthest(made, 0, 1, 0, 1) == pytest.approx(0.2)  # two steps from the last row
        assert furthest(made, 1, 0, -1, 0) == pytest.approx(0)
        assert furthest(made, 1, 1, -1, 0) == pytest.approx(0.1)


def test_neighbours_follow_each_other() -> None:
    threat, images = Threat("inf", 0.5, 0.1), picture("constant", 1, 3, 5)
    (made,) = polytope(images, threat, "planes")
    field = torch.zeros((3, 5, 2), dtype=DOUBLE)
    held = made.parameters[0, 0]
    lower, upper = made.lower.copy(), made.upper.copy()
    lower[held] = upper[held] = field[0, 0]
    made = replace(made, lower=lower, upper=upper)
    for i, j in itertools.product(range(3), range(5)):
        for x, y in ((1, 0), (0, 1)):
            assert furthest(made, i, j, x, y) == pytest.approx(min(0.5, 0.1 * (i + j)))


def test_a_gamma_of_twice_delta_is_free() -> None:
    images, row = picture("random", 1, 4, 4), torch.randn((1, 4, 4), dtype=DOUBLE)
    for norm, relaxation in zip((1.0, math.inf), FLOWING, strict=True):
        free, loose, tight = (
            lowest(polytope(images, Threat(norm, 0.4, gamma), relaxation)[0], row)
            for gamma in (math.inf, 0.8, 0.3)
        )
        assert free == pytest.approx(loose)
        assert tight > free + 1e-3


# The paper's overview: x0 and x1 next to each other, delta 0.5, gamma 0.25


def difference() -> Tensor:
    row = torch.zeros((1, 3, 4), dtype=DOUBLE)
    row[0, 1, 1], row[0, 1, 2] = -1, 1
    return row


@pytest.mark.parametrize(
    ("relaxation", "gamma", "answer"),
    [
        ("box", 0.25, 0.0),
        ("planes", math.inf, 0.0),
        ("planes", 0.25, 0.1875),  # 0.0625 in the paper, whose bias is -0.125
        ("hull", math.inf, 0.0),
        ("hull", 0.25, 0.1875),
    ],
)
def test_the_overview(relaxation: Relaxation, gamma: float, answer: float) -> None:
    (made,) = polytope(OVERVIEW, Threat("inf", 0.5, gamma), relaxation)
    assert lowest(made, difference()) == pytest.approx(answer, abs=NEAR)
    (turned,) = polytope(OVERVIEW.mT, Threat("inf", 0.5, gamma), relaxation)
    assert lowest(turned, difference().mT) == pytest.approx(answer, abs=NEAR)


def test_the_overviews_planes_are_rows() -> None:
    (made,) = polytope(OVERVIEW, Threat("inf", 0.5, 0.25), "planes")
    for pixel, sign in (((0, 1, 1), -1), ((0, 1, 2), 1)):
        row = torch.zeros((1, 3, 4), dtype=DOUBLE)
        row[pixel] = sign
        for dx in (-0.5, -0.25, 0.0, 0.4):
            field = torch.tensor([dx, 0.1], dtype=DOUBLE).expand(3, 4, 2)
            found = sign * lowest(pinned(made, field), row)
            paper = 0.125 + 0.25 * dx if sign < 0 else 0.5 + 0.5 * dx
            assert found == pytest.approx(paper, abs=NEAR)


# How tight they are


@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_free_pixels_of_the_hull_are_exact(border: Border) -> None:
    # Channels that move together: with a field each, the bounds would be the box's.
    images = picture("random", 3, 4, 5)
    for delta in (0.4, 1.3):
        threat = Threat("inf", delta, math.inf, border)
        (made,) = polytope(images, threat, "hull")
        rows = torch.randn((4, 3, 4, 5), dtype=DOUBLE)
        exact = support(images, threat, rows[None])[0]
        for row, answer in zip(rows, exact.tolist(), strict=True):
            assert lowest(made, row) == pytest.approx(answer, abs=NEAR)


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_free_pixels_of_round_hulls_are_between_ball_and_box(norm: float) -> None:
    images = picture("random", 3, 4, 5)
    (made,) = polytope(images, Threat(norm, 0.6), "hull")
    rows = torch.randn((4, 3, 4, 5), dtype=DOUBLE)
    ball, box = (support(images, Threat(n, 0.6), rows[None])[0].tolist() for n in (norm, "inf"))
    for row, high, low in zip(rows, ball, box, strict=True):
        assert low + 1e-3 < lowest(made, row) <= high + NEAR


def by_candidates(images: Tensor, threat: Threat, row: Tensor) -> float:
    """The hull's program from the definition: weights of candidates, nothing else."""
    channels, height, width = images.shape[1:]
    array = images[0].numpy()
    region = threat.region((height, width))
    cost: list[float] = []
    points: dict[tuple[int, int], list[tuple[int, float, float]]] = {}
    for i, j in itertools.product(range(height), range(width)):
        points[i, j] = []
        for x, y in tinf_candidates(threat.delta, cut(region, i, j)):
            points[i, j].append((len(cost), float(x), float(y)))
            combined = (float(value(array[c], i, j, x, y)) * row[c, i, j] for c in range(channels))
            cost.append(float(sum(combined)))
    entries, bounds = [], []
    for some in points.values():
        for sign in (1.0, -1.0):
            entries.append([(k, sign) for k, _, _ in some])
            bounds.append(sign)
    for (i, j), here in points.items():
        for there in ((i + 1, j), (i, j + 1)):
            for axis, sign in itertools.product((1, 2), (1.0, -1.0)):
                if there in points and threat.gamma < math.inf:
                    entries.append([(p[0], sign * p[axis]) for p in here]
                                   + [(p[0], -sign * p[axis]) for p in points[there]])  # fmt: skip
                    bounds.append(threat.gamma)
    ones = np.ones(len(cost))
    answer = _minimise(np.array(cost), 0 * ones, ones, entries, np.array(bounds))
    assert answer is not None
    return answer


@pytest.mark.parametrize("border", ["clamp", "inside"])
@pytest.mark.parametrize("delta", [0.4, 1.3, 7.5])
def test_the_hull_is_that_of_the_candidates(delta: float, border: Border) -> None:
    images = picture("random", 2, 3, 4)
    for gamma in (0.0, 0.3) if delta < 4 else (0.05,):
        threat = Threat("inf", delta, gamma, border)
        (made,) = polytope(images, threat, "hull")
        row = torch.randn((2, 3, 4), dtype=DOUBLE)
        if delta > 4:  # the reference goes on beyond the image, in vain
            assert len(made.lower) < 24 + 24 + 12 * 9 * 7 + 1
        assert lowest(made, row) == pytest.approx(by_candidates(images, threat, row), abs=NEAR)


def test_at_a_corner_of_the_region_the_hull_knows_the_image() -> None:
    images = picture("random", 3, 4, 5)
    for delta, gamma in itertools.product((0.4, 1.3), (0.0, 0.1, math.inf)):
        (made,) = polytope(images, Threat("inf", delta, gamma), "hull")
        for tip in itertools.product((-delta, delta), repeat=2):
            field = torch.tensor(tip, dtype=DOUBLE).expand(4, 5, 2)
            bent = warp(images, field[None])[0]
            assert holds(made, field, bent)
            row = torch.randn((3, 4, 5), dtype=DOUBLE)
            for sign in (1, -1):
                answer = lowest(pinned(made, field), sign * row)
                assert answer == pytest.approx(float((sign * row * bent).sum()), abs=NEAR)


@pytest.mark.parametrize(
    ("norm", "kind", "channels"),
    [(1.0, "real", 1), (2.0, "random", 3), (math.inf, "random", 3),
     (math.inf, "real", 1), (math.inf, "real", 3)],
)  # fmt: skip
def test_each_relaxation_is_tighter_than_the_next(norm: float, kind: str, channels: int) -> None:
    images = picture(kind, channels, 5, 6, seed=1)
    rows = torch.randn((2, channels, 5, 6), dtype=DOUBLE)
    rows[1, :, 3:] = 0
    gained = 0.0
    for gamma in GAMMAS if norm == math.inf else GAMMAS[1:3]:
        threat = Threat(norm, 0.4, gamma)
        made = {name: polytope(images, threat, name)[0] for name in RELAXATIONS}
        interval = pixel_bounds(images, threat)
        for row in rows:
            found = {name: lowest(made[name], row) for name in RELAXATIONS}
            ends = torch.where(row > 0, row * interval.lower[0], row * interval.upper[0])
            assert found["box"] == pytest.approx(float(ends.sum()))
            assert found["hull"] >= found["planes"] - NEAR
            assert found["planes"] >= found["box"] - NEAR
            if gamma < 0.1:
                assert found["planes"] > found["box"] + 1e-3
            gained += found["hull"] - found["planes"]
    assert gained > 1e-3


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_round_hulls_have_the_planes_among_their_rows(norm: float) -> None:
    images, threat = picture("random", 1, 3, 3), Threat(norm, 0.6, 0.1)
    below, above = pixel_planes(images, threat)
    (made,) = polytope(images, threat, "hull")
    field = threat.sample((3, 3), 7, generator=draw(0))[4]
    for plane, sign in ((below, 1), (above, -1)):
        heights = plane[0, 0, ..., 0] + (plane[0, 0, ..., 1:] * field).sum(-1)
        for i, j in itertools.product(range(3), repeat=2):
            row = torch.zeros((1, 3, 3), dtype=DOUBLE)
            row[0, i, j] = sign
            assert lowest(pinned(made, field), row) >= sign * float(heights[i, j]) - NEAR
