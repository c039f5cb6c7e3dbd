"""pixel_planes: below and above everywhere, without tolerance, and as close as the paper's program.

A plane is checked by itself: the minimum of pixel - slope . v over the region, from the exact
reference, must not be below its constant.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.flow.agree import NORMS, STORED, TIGHT, Border, cut, random_pixels, some_pixels
from tests.flow.pictures import KINDS, OVERVIEW, picture
from tests.oracle import dense_samples, pixel_minimum, plane_optimum, tinf_candidates, value
from warpcert import Threat, pixel_planes

LP = 1e-7
"""HiGHS works with tolerances of its own."""


def both_sides(images: Tensor, threat: Threat) -> list[tuple[int, Tensor]]:
    """Planes below the image, and planes below its negative."""
    below, above = pixel_planes(images, threat)
    return [(1, below), (-1, -above)]


def objective(plane: Tensor, threat: Threat, shape: tuple[int, int], i: int, j: int) -> Fraction:
    """The plane summed over the candidates."""
    constant, along, across = (Fraction(x) for x in plane.tolist())
    points = tinf_candidates(threat.delta, cut(threat.region(shape), i, j))
    return sum((constant + along * x + across * y for x, y in points), Fraction(0))


def best_objective(image: np.ndarray, threat: Threat, i: int, j: int) -> float:
    """The most that a plane below the image can reach, by linear programming."""
    points = tinf_candidates(threat.delta, cut(threat.region(image.shape), i, j))
    values = [float(value(image, i, j, x, y)) for x, y in points]
    return plane_optimum([[float(x), float(y)] for x, y in points], values)


def assert_valid(images: Tensor, threat: Threat, pixels: list[tuple[int, int]]) -> None:
    """Every plane holds over its whole region, without tolerance, and touches the pixel there."""
    slack = Fraction(TIGHT if images.dtype == torch.float64 else STORED)
    region = threat.region((images.shape[2], images.shape[3]))
    for (sign, planes), (i, j) in itertools.product(both_sides(images, threat), pixels):
        assert planes.shape == (*images.shape, 3) and planes.dtype == images.dtype
        for c in range(images.shape[1]):
            constant, along, across = planes[0, c, i, j].tolist()
            image = sign * images[0, c].numpy()
            low, high = pixel_minimum(
                image, i, j, threat.norm, threat.delta, cut(region, i, j), (-along, -across)
            )
            note = f"{threat}, side {sign}, channel {c}, pixel ({i}, {j})"
            assert Fraction(constant) <= high, f"unsound: {note}"
            assert low - Fraction(constant) <= slack, f"loose: {note}"


# The paper's example


def test_overview_example() -> None:
    below, above = pixel_planes(OVERVIEW, Threat(math.inf, 0.5))
    expected = {
        1: ((0.0, 0.5, 0.0), (0.125, 0.25, 0.0)),
        2: ((0.5, 0.5, 0.0), (0.5, 0.5, 0.0)),
    }
    for column, planes in expected.items():
        for found, plane in zip((below, above), planes, strict=True):
            assert found[0, 0, 1, column].tolist() == pytest.approx(plane, abs=1e-12)


def test_overview_objectives() -> None:
    # The summed distances to the nine candidates are those of the planes in the paper.
    threat = Threat(math.inf, 0.5)
    below, above = pixel_planes(OVERVIEW, threat)
    image = OVERVIEW[0, 0].numpy()
    for column, gaps in {1: (0.75, 0.375), 2: (0.0, 0.0)}.items():
        summed = sum(value(image, 1, column, x, y) for x, y in tinf_candidates(0.5))
        for planes, gap, sign in ((below, gaps[0], 1), (above, gaps[1], -1)):
            reached = objective(planes[0, 0, 1, column], threat, (3, 4), 1, column)
            assert float(sign * (summed - reached)) == pytest.approx(gap, abs=1e-11)


# Soundness


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.0, 0.3, 0.5, 1.0, 1.3, math.sqrt(2), 2.0, 2.3])
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_planes_hold_and_touch(norm: float, delta: float, border: Border) -> None:
    number = round(10 * delta)
    kind = KINDS[number % 5]
    height, width = [(3, 4), (4, 3), (1, 5), (2, 2)][number % 4]
    images = picture(kind, 1, height, width, number)
    gamma = 0.3 if border == "inside" and number % 2 else math.inf
    threat = Threat(norm, delta, gamma, border)
    assert_valid(images, threat, random_pixels(height, width, 4, number))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_planes_of_float32_images(norm: float, border: Border) -> None:
    images = picture("quantised", 1, 4, 4).to(torch.float32)
    assert_valid(images, Threat(norm, 0.7, border=border), some_pixels(4, 4, 7))


@pytest.mark.parametrize("norm", NORMS)
def test_planes_of_large_displacements(norm: float) -> None:
    assert_valid(picture("random", 1, 4, 3), Threat(norm, 5.2), [(0, 0), (2, 1)])


@pytest.mark.parametrize("norm", NORMS)
def test_planes_of_real_images(norm: float) -> None:
    assert_valid(picture("real", 3, 8, 8), Threat(norm, 0.5), [(0, 0), (3, 4), (7, 2)])
    assert_valid(picture("real", 1, 28, 28), Threat(norm, 0.5), some_pixels(28, 28, 12)[::2])


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.4, 1.0, 1.6])
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_no_displacement_crosses_a_plane(norm: float, delta: float, border: Border) -> None:
    images, threat = picture("random", 1, 3, 3), Threat(norm, delta, border=border)
    region, rng = threat.region((3, 3)), np.random.default_rng(1)
    for sign, planes in both_sides(images, threat):
        image = sign * images[0, 0].numpy()
        for i, j in ((0, 0), (1, 1), (2, 1)):
            constant, along, across = (Fraction(x) for x in planes[0, 0, i, j].tolist())
            for x, y in dense_samples(norm, delta, 60, rng, cut(region, i, j)).tolist():
                plane = constant + along * Fraction(x) + across * Fraction(y)
                assert plane <= value(image, i, j, x, y)


# Tightness


@pytest.mark.parametrize("delta", [0.3, 0.5, 1.0, 1.3, 2.0, 2.3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("gamma", "border"), [(math.inf, "clamp"), (math.inf, "inside"), (0.4, "inside")]
)
def test_norm_inf_reaches_the_optimum(
    delta: float, kind: str, gamma: float, border: Border
) -> None:
    threat = Threat(math.inf, delta, gamma, border)
    images = picture(kind, 1, 4, 5, round(10 * delta))
    for sign, planes in both_sides(images, threat):
        image = sign * images[0, 0].numpy()
        for i, j in random_pixels(4, 5, 2, round(10 * delta) + sign):
            best = best_objective(image, threat, i, j)
            reached = objective(planes[0, 0, i, j], threat, (4, 5), i, j)
            assert float(reached) == pytest.approx(best, abs=LP), (i, j)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1)])
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_optimum_of_thin_images(shape: tuple[int, int], border: Border) -> None:
    threat = Threat(math.inf, 1.3, border=border)
    images = picture("random", 1, *shape)
    for sign, planes in both_sides(images, threat):
        for i, j in itertools.product(*map(range, shape)):
            best = best_objective(sign * images[0, 0].numpy(), threat, i, j)
            reached = objective(planes[0, 0, i, j], threat, shape, i, j)
            assert float(reached) == pytest.approx(best, abs=LP)


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("delta", [0.4, 0.8, 1.0, 1.6])
def test_smaller_balls_have_planes_that_are_higher_in_the_middle(norm: float, delta: float) -> None:
    images = picture("random", 1, 5, 5)
    for (_, found), (_, wide) in zip(
        both_sides(images, Threat(norm, delta)),
        both_sides(images, Threat(math.inf, delta)),
        strict=True,
    ):
        gain = found[..., 0] - wide[..., 0]
        assert bool((gain >= -1e-11).all())
        assert bool((gain > 1e-3).any())
        alike = (found[..., 1:] == wide[..., 1:]).all(-1)
        assert bool((gain[alike] >= -1e-11).all())


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("delta", [0.4, 1.0, 1.6])
def test_planes_of_round_balls_are_nearly_the_highest(norm: float, delta: float) -> None:
    # No plane below these points is higher in the middle, by linear programming.
    images, rng = picture("random", 1, 5, 5, seed=3), np.random.default_rng(0)
    half = dense_samples(norm, delta, 150, rng)
    points = np.concatenate([half, -half])
    for sign, planes in both_sides(images, Threat(norm, delta)):
        image = sign * images[0, 0].numpy()
        for i, j in ((2, 2), (1, 3), (3, 1)):
            values = [float(value(image, i, j, x, y)) for x, y in points]
            best = plane_optimum(points, values) / len(points)
            assert best - 0.03 <= planes[0, 0, i, j, 0].item() <= best + LP


def test_planes_are_at_least_the_intervals_in_the_middle() -> None:
    # At no displacement the best plane is the convex hull: no flat plane can be above it.
    images = picture("random", 1, 5, 5)
    threat = Threat(math.inf, 0.7)
    for sign, planes in both_sides(images, threat):
        lows = [
            float(pixel_minimum(sign * images[0, 0].numpy(), i, j, math.inf, 0.7)[0])
            for i, j in itertools.product(range(5), range(5))
        ]
        assert bool(
            (
                planes[0, 0, ..., 0].flatten() >= torch.tensor(lows, dtype=torch.float64) - 1e-11
            ).all()
        )


# Special images and threats


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.0, 0.5, 1.3])
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_flat_images_have_flat_planes(norm: float, delta: float, border: Border) -> None:
    images = torch.full((1, 2, 3, 4), 0.6, dtype=torch.float64)
    for sign, planes in both_sides(images, Threat(norm, delta, border=border)):
        assert planes[..., 1:].abs().max() == 0
        torch.testing.assert_close(planes[..., 0], sign * images, rtol=0, atol=1e-11)


@pytest.mark.parametrize("norm", NORMS)
def test_no_displacement_needs_no_slope_to_touch(norm: float) -> None:
    images = picture("random", 1, 3, 4)
    for sign, planes in both_sides(images, Threat(norm, 0.0)):
        torch.testing.assert_close(planes[..., 0], sign * images, rtol=0, atol=1e-11)


@pytest.mark.parametrize("norm", NORMS)
def test_linear_images_have_exact_planes(norm: float) -> None:
    x = torch.arange(7, dtype=torch.float64)
    images = (0.1 + 0.05 * x + 0.07 * x[:, None])[None, None]
    for sign, planes in both_sides(images, Threat(norm, 1.5)):
        for i, j in ((2, 2), (3, 4)):
            expected = (sign * images[0, 0, i, j].item(), sign * 0.05, sign * 0.07)
            assert planes[0, 0, i, j].tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("norm", NORMS)
def test_images_do_not_depend_on_their_batch(norm: float, monkeypatch: pytest.MonkeyPatch) -> None:
    images, threat = picture("random", 1, 4, 2, batch=2), Threat(norm, 0.8, border="inside")
    whole = pixel_planes(images, threat)
    monkeypatch.setattr("warpcert.core.memory.free_bytes", lambda _: 1)  # row by row
    for one, other in zip(pixel_planes(images, threat), whole, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_transposed_images_have_transposed_optima(norm: float) -> None:
    # The planes may differ where the optimum is not unique, their height in the middle may not.
    images, threat = picture("random", 1, 4, 3), Threat(norm, 0.5)
    for (_, planes), (_, turned) in zip(
        both_sides(images, threat), both_sides(images.mT, threat), strict=True
    ):
        atol = 1e-8 if norm == math.inf else 1e-2
        torch.testing.assert_close(planes[..., 0], turned[..., 0].mT, rtol=0, atol=atol)
