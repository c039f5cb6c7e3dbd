"""The reference checks itself: answers by hand, two methods against each other, brute force."""

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from . import (
    Box,
    dense_samples,
    joint_maximum,
    joint_minimum,
    nearest_member_linf,
    pixel_maximum,
    pixel_minimum,
    pixel_minimum_by_roots,
    plane_optimum,
    tinf_candidates,
    value,
)
from .arc import Arc, Fixed, arc_minimum
from .region import region

F = Fraction
NORMS = (1, 2, math.inf)
RAMP = np.array([[0.0, 0.0, 0.5, 1.0]] * 3)
RAMP_BOUNDS = [(0.0, 0.0), (0.0, 0.25), (0.25, 0.75), (0.75, 1.0)]
"""The extrema of the middle row for delta 0.5 and any norm."""
SADDLE = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
"""x(dx, dy) = |dx dy| around the middle pixel."""
TWIST = np.array([[1.0, 0.0, -1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 1.0]])
"""x(dx, dy) = dx dy around the middle pixel."""
WIDTH = F(1, 10**14)


def assert_near(enclosure: tuple[F, F], expected: float | F, tolerance: float = 1e-15) -> None:
    """The enclosure is tight and holds the expected number up to the number's own rounding."""
    low, high = enclosure
    assert low <= high <= low + WIDTH
    assert low - F(tolerance) <= F(expected) <= high + F(tolerance)


# The value


def test_value_by_hand() -> None:
    image = [[0, 1, 4], [2, 8, 16]]
    assert value(image, 0, 0, F(1, 2), 0) == F(1, 2)
    assert value(image, 0, 0, 0, F(1, 2)) == 1
    assert value(image, 0, 0, F(1, 4), F(1, 2)) == F(1, 8) + F(1, 2) * (2 + F(6, 4))
    assert value(image, 1, 2, 0, 0) == 16
    assert value(image, 1, 2, -1, 0) == 8
    assert value(image, 1, 2, 0, -1) == 4
    assert value(image, 1, 2, 5, 5) == 16
    assert value(image, 0, 1, -7, F(1, 3)) == F(2, 3)


@pytest.mark.parametrize("dx", [-2, F(-1, 2), 0, F(1, 2), 1, F(3, 2), 7])
def test_value_with_sides_of_one_pixel(dx: F) -> None:
    assert value([[3]], 0, 0, dx, -dx) == 3
    along = min(max(dx, F(0)), F(1))
    assert value([[1, 5]], 0, 0, dx, dx) == 1 + 4 * along
    assert value([[1], [5]], 0, 0, -dx, dx) == 1 + 4 * along


def test_value_takes_floats_as_rationals() -> None:
    image = np.array([[0.1, 0.7]], dtype=np.float32)
    expected = (1 - F(0.3)) * F(float(np.float32(0.1))) + F(0.3) * F(float(np.float32(0.7)))
    assert value(image, 0, 0, 0.3, 0.0) == expected


# Answers by hand


@pytest.mark.parametrize("norm", NORMS)
def test_ramp(norm: float) -> None:
    for column, (low, high) in enumerate(RAMP_BOUNDS):
        assert_near(pixel_minimum(RAMP, 1, column, norm, 0.5), low)
        assert_near(pixel_maximum(RAMP, 1, column, norm, 0.5), high)


def test_saddle_has_its_maximum_on_the_diagonal() -> None:
    assert pixel_maximum(SADDLE, 1, 1, 1, 1) == (F(1, 4), F(1, 4))
    assert_near(pixel_maximum(SADDLE, 1, 1, 2, 1), F(1, 2))
    assert pixel_maximum(SADDLE, 1, 1, math.inf, 1) == (F(1), F(1))
    assert pixel_maximum(SADDLE, 1, 1, 1, F(1, 3)) == (F(1, 36), F(1, 36))
    assert_near(pixel_maximum(SADDLE, 1, 1, 2, F(1, 3)), F(1, 18))


def test_vertex_on_a_diagonal_is_exact() -> None:
    # dx dy - dx / 5 on dx + dy = 1 is u (1 - u) - u / 5: the maximum is at u = 2/5.
    assert pixel_maximum(TWIST, 1, 1, 1, 1, (0, 1, 0, 1), (F(-1, 5), 0)) == (F(4, 25), F(4, 25))
    # The same with u >= 1/2: the vertex is outside and the end counts.
    cut = (F(1, 2), 1, 0, 1)
    assert pixel_maximum(TWIST, 1, 1, 1, 1, cut, (F(-1, 5), 0)) == (F(3, 20), F(3, 20))
    # Elsewhere on the diagonals: -dx dy is least on the other two.
    assert pixel_minimum(TWIST, 1, 1, 1, 1) == (F(-1, 4), F(-1, 4))


@pytest.mark.parametrize("radius", [F(1, 10), F(1, 2), F(1), F(5, 2), F(10)])
def test_affine_function_on_the_disc(radius: F) -> None:
    # A constant image and a slope of length 5: the minimum is 7 - 5 r, D = 0.
    assert_near(pixel_minimum(np.full((3, 3), 7), 1, 1, 2, radius, None, (3, -4)), 7 - 5 * radius)
    assert pixel_minimum([[7]], 0, 0, 1, radius, None, (3, -4))[0] == 7 - 4 * radius
    assert pixel_minimum([[7]], 0, 0, "inf", radius, None, (3, -4))[0] == 7 - 7 * radius


def test_pure_twist_on_the_disc() -> None:
    # B = C = 0: the minimum of dx dy on the circle is -r^2 / 2.
    assert_near(pixel_minimum(TWIST, 1, 1, 2, 0.75), F(-9, 32))
    # Without the two quadrants of negative sign only the axes are left.
    assert_near(pixel_minimum(TWIST, 1, 1, 2, 0.75, (0, 1, 0, 1)), F(0))


def test_extremum_at_an_axis_crossing() -> None:
    # On the unit circle x + y - x y = s - (s^2 - 1) / 2 with s = x + y, stationary where s = 1.
    assert_near(pixel_maximum(-TWIST, 1, 1, 2, 1, (0, 1, 0, 1), (1, 1)), F(1))


def test_flat_minimum_of_fourth_order() -> None:
    # x y - r sqrt 2 (x + y) on the circle is r^2 ((1 - cos phi)^2 - 3 / 2), phi from the diagonal:
    # the first three derivatives vanish at the minimum, up to the rounding of sqrt 2.
    image, steep = np.array([[0.0, 0.0], [0.0, 1.0]]), -math.sqrt(0.5)
    assert_near(pixel_minimum(image, 0, 0, 2, 0.5, (0, 1, 0, 1), (steep, steep)), F(-3, 8), 1e-15)


def test_nearly_bilinear_pixels_lose_no_extremum() -> None:
    # D = 2^-53 and D = 0: the quartic that divides by D breaks down, the answer must not jump.
    for last in (1.0, math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0)):
        image = np.array([[0.0, 0.25], [0.75, last]])
        found = pixel_maximum(image, 0, 0, 2, 0.5, (0, 1, 0, 1))
        assert_near(found, 0.5 * math.hypot(0.25, 0.75), 1e-15)


# Degenerate regions


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("slope", [(0, 0), (0.3, -2)])
def test_no_displacement(norm: float, slope: tuple[float, float]) -> None:
    image = np.random.default_rng(1).random((4, 4))
    assert pixel_minimum(image, 2, 1, norm, 0, None, slope) == (F(image[2, 1]), F(image[2, 1]))


@pytest.mark.parametrize("norm", NORMS)
def test_box_of_one_point_or_one_segment(norm: float) -> None:
    image = np.random.default_rng(2).random((5, 5))
    x, y, slope = 0.375, -1.25, (F(1, 3), F(2, 7))
    expected = value(image, 2, 2, x, y) + slope[0] * F(x) + slope[1] * F(y)
    assert_near(pixel_minimum(image, 2, 2, norm, 2, (x, x, y, y), slope), expected)
    ends = [value(image, 2, 2, x, t) for t in (F(-1, 2), F(0), F(1, 4))]
    assert_near(pixel_minimum(image, 2, 2, norm, 2, (x, x, F(-1, 2), F(1, 4))), min(ends))
    assert_near(pixel_maximum(image, 2, 2, norm, 2, (x, x, F(-1, 2), F(1, 4))), max(ends))


@pytest.mark.parametrize("norm", NORMS)
def test_box_that_touches_the_ball(norm: float) -> None:
    image = np.random.default_rng(3).random((5, 5))
    box = (1.5, 2, 0, 1)  # touches the balls of norms 1 and 2 in the point (1.5, 0)
    if norm != math.inf:
        assert_near(pixel_minimum(image, 2, 2, norm, 1.5, box), value(image, 2, 2, 1.5, 0))
    corner = (0.75, 3, 0.75, 3) if norm == 1 else (F(3, 5), 3, F(4, 5), 3)
    radius = 1.5 if norm == 1 else 1
    if norm != math.inf:
        expected = value(image, 2, 2, corner[0], corner[2])
        assert_near(pixel_maximum(image, 2, 2, norm, radius, corner), expected)


@pytest.mark.parametrize("norm", NORMS)
def test_empty_regions_and_wrong_arguments(norm: float) -> None:
    image = np.zeros((3, 3))
    past = (math.nextafter(1.0, 2.0), 3, -1, 1)
    wrong: list[Box] = [(1, 0, 0, 1), past, (3, 4, 0, 0), (math.inf, math.inf, 0, 1)]
    if norm == 2:
        wrong.append((F(3, 5), 1, math.nextafter(0.8, 1.0), 1))
    for box in wrong:
        with pytest.raises(ValueError, match="no displacement"):
            pixel_minimum(image, 1, 1, norm, 1, box)
    with pytest.raises(ValueError, match="delta is at least"):
        pixel_minimum(image, 1, 1, norm, -0.5)
    with pytest.raises(ValueError, match="not a finite"):
        pixel_minimum(image, 1, 1, norm, math.nan)
    with pytest.raises(ValueError, match="pixel"):
        pixel_minimum(image, 3, 0, norm, 1)
    with pytest.raises(ValueError, match="norm is"):
        pixel_minimum(image, 1, 1, 3, 1)


@pytest.mark.parametrize("norm", NORMS)
def test_ball_larger_than_the_image(norm: float) -> None:
    image = np.random.default_rng(4).random((3, 4))
    for i, j in itertools.product(range(3), range(4)):
        assert_near(pixel_minimum(image, i, j, norm, 50), F(image.min()))
        assert_near(pixel_maximum(image, i, j, norm, 50), F(image.max()))


def test_outside_the_image_only_the_slope_counts() -> None:
    image = np.array([[0.25, 1.0], [0.5, 2.0]])
    # Left of the image the value depends on dy only.
    box = (-3, -2, 0, 1)
    assert pixel_minimum(image, 0, 0, math.inf, 3, box) == (F(1, 4), F(1, 4))
    assert pixel_minimum(image, 0, 0, math.inf, 3, box, (2, 0)) == (F(-23, 4), F(-23, 4))
    assert pixel_minimum(image, 0, 0, math.inf, 3, box, (-2, 0)) == (F(17, 4), F(17, 4))
    # Far outside the corner the disc meets a constant: an affine problem.
    assert_near(pixel_minimum(image, 0, 0, 2, 10, (-9, -1, -9, -1), (3, 4)), F(1, 4) - 50)


@pytest.mark.parametrize("delta", [1e-300, 1e-20, 1e-9])
def test_tiny_radius(delta: float) -> None:
    image = np.random.default_rng(5).random((3, 3))
    for norm in NORMS:
        low, high = pixel_minimum(image, 1, 1, norm, delta)
        assert F(image[1, 1]) - 2 * F(delta) - WIDTH <= low <= high <= F(image[1, 1])
        assert high - low <= WIDTH


# Random checks


def random_box(rng: np.random.Generator, delta: float) -> Box | None:
    """None, or a box that meets all three balls; ends on integers and +-delta are frequent."""
    if rng.random() < 0.4:
        return None
    x, y = rng.uniform(-delta / 2, delta / 2, 2)
    choices = [0.0, delta, -delta, 1.0, -1.0, delta / 2, *rng.uniform(-delta, delta, 4)]
    lo_x, hi_x, lo_y, hi_y = (float(rng.choice(choices)) for _ in range(4))
    return min(lo_x, x), max(hi_x, x), min(lo_y, y), max(hi_y, y)


def random_image(rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Images with many exact ties (D = 0, B = C = 0) besides generic ones."""
    shape = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(0, 3, shape) / 2
    if kind == 1:
        return (rng.integers(0, 256, shape) / 255).astype(np.float32).astype(np.float64)
    if kind == 2:
        return rng.random((shape[0], 1)) + rng.random((1, shape[1]))
    return rng.random(shape)


def random_slope(rng: np.random.Generator) -> tuple[float, float]:
    if rng.random() < 0.4:
        return 0.0, 0.0
    x, y = rng.normal(size=2) * rng.choice([0.1, 1.0])
    return float(x), float(y)


@pytest.mark.parametrize("seed", range(4))
def test_branch_and_bound_agrees_with_roots(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        image, slope = random_image(rng), random_slope(rng)
        delta = float(rng.choice([0.25, 1.0, 1.5, 2.0, math.sqrt(2), rng.uniform(0, 2.2)]))
        box = random_box(rng, delta)
        i, j = int(rng.integers(image.shape[0])), int(rng.integers(image.shape[1]))
        low, high = pixel_minimum(image, i, j, 2, delta, box, slope)
        other = pixel_minimum_by_roots(image, i, j, delta, box, slope)
        assert high - low <= WIDTH
        assert low - F(1, 10**30) <= other <= high + F(1, 10**30), (image, i, j, delta, box, slope)


@pytest.mark.parametrize("norm", NORMS)
def test_no_sample_is_below_and_some_come_close(norm: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(12):
        image, slope = random_image(rng), random_slope(rng)
        delta = float(rng.choice([0.25, 0.5, 1.0, rng.uniform(0, 2.5)]))
        box = random_box(rng, delta)
        i, j = int(rng.integers(image.shape[0])), int(rng.integers(image.shape[1]))
        lowest, _ = pixel_minimum(image, i, j, norm, delta, box, slope)
        _, highest = pixel_maximum(image, i, j, norm, delta, box, slope)
        seen = [
            value(image, i, j, x, y) + F(slope[0]) * F(x) + F(slope[1]) * F(y)
            for x, y in dense_samples(norm, delta, 400, rng, box)
        ]
        assert lowest <= min(seen) and max(seen) <= highest
        # 400 samples, half of them special: a crude but telling upper bound on what is missed.
        assert min(seen) - lowest < 0.02 * (1 + max(map(abs, slope)))
        assert highest - max(seen) < 0.02 * (1 + max(map(abs, slope)))


@pytest.mark.parametrize("norm", NORMS)
def test_symmetries(norm: float) -> None:
    rng = np.random.default_rng(8)
    for _ in range(6):
        image = rng.random((4, 3))
        delta, slope = float(rng.uniform(0.2, 1.8)), random_slope(rng)
        box = random_box(rng, delta) or (-delta, delta, -delta, delta)
        plain = pixel_minimum(image, 1, 2, norm, delta, box, slope)
        swapped = pixel_minimum(
            image.T, 2, 1, norm, delta, (box[2], box[3], box[0], box[1]), (slope[1], slope[0])
        )
        mirrored = pixel_minimum(
            image[:, ::-1], 1, 0, norm, delta, (-box[1], -box[0], *box[2:]), (-slope[0], slope[1])
        )
        for other in (swapped, mirrored):
            assert abs(plain[0] - other[0]) <= WIDTH


@pytest.mark.parametrize("norm", NORMS)
def test_splitting_the_box_keeps_the_minimum(norm: float) -> None:
    rng = np.random.default_rng(9)
    for _ in range(6):
        image, delta = rng.random((4, 4)), float(rng.uniform(0.2, 1.8))
        cut = float(rng.uniform(-delta, delta))
        whole = pixel_minimum(image, 1, 2, norm, delta)
        halves = [
            pixel_minimum(image, 1, 2, norm, delta, box)
            for box in ((-9, cut, -9, 9), (cut, 9, -9, 9))
        ]
        assert abs(whole[0] - min(half[0] for half in halves)) <= WIDTH


def test_arcs_with_hostile_coefficients() -> None:
    # The bound must close for any coefficients: constant, twisted, nearly flat, huge, tiny.
    whole = (F(-1, 2), F(1, 2))
    assert arc_minimum([Arc(F(3), F(0), F(0), F(0), *whole)], None)[1] == pytest.approx(3)
    for beta, kappa, d in itertools.product((F(0), F(1), F(10**9), F(1, 10**30)), repeat=3):
        low, high = arc_minimum([Arc(F(0), beta, kappa, -d, *whole)], None)
        assert 0 <= high - low <= WIDTH


def test_bend_bounds_the_second_derivative() -> None:
    # At both ends and inside of any interval, wide ones included, for any coefficients.
    rng = np.random.default_rng(17)
    for _ in range(200):
        beta, kappa, d = (float(c) for c in rng.normal(size=3) * rng.choice([0.0, 1.0, 50.0], 3))
        curve = Fixed(Arc(F(0), F(beta), F(kappa), F(d), F(-1, 2), F(1, 2)), 128)
        corner = float(rng.choice([0.7071, -0.7071, rng.uniform(-0.7, 0.7)]))
        other = float(rng.choice([0.98 * corner, rng.uniform(-0.7, 0.7)]))
        start, end = sorted((corner, other))
        left, right = math.floor(F(start) * 2**128), math.floor(F(end) * 2**128)
        bend = curve.bend(left, right) / 2**128
        floor = curve.floor(left, right, curve.g(left), curve.g(right)) / 2**128
        for tau in np.linspace(start, end, 9).tolist():
            sigma = math.sqrt(1 - tau * tau)
            second = -2 * d * tau / sigma - (kappa + d * tau) / sigma**3
            assert second <= bend + 1e-9
            assert beta * tau + (kappa + d * tau) * sigma >= floor - 1e-9


# Joint extrema, planes, projections, samples


@pytest.mark.parametrize("norm", NORMS)
def test_joint_extrema(norm: float) -> None:
    rng = np.random.default_rng(10)
    images, weights = rng.integers(0, 9, (3, 4, 4)) / 8, [1.0, -2.0, 0.5]
    mixed = images[0] - 2 * images[1] + images[2] / 2
    arguments = (2, 1, norm, 0.8, (-0.5, 1, -1, 1), (0.25, -0.125))
    assert joint_minimum(images, weights, *arguments) == pixel_minimum(mixed, *arguments)
    assert joint_maximum(images, weights, *arguments) == pixel_maximum(mixed, *arguments)
    with pytest.raises(ValueError, match="do not fit"):
        joint_minimum(images, [1.0], *arguments)


def test_tinf_candidates() -> None:
    half = F(1, 2)
    assert tinf_candidates(0) == [(F(0), F(0))]
    assert tinf_candidates(0.5) == list(itertools.product((-half, F(0), half), repeat=2))
    assert len(tinf_candidates(1)) == 9
    assert len(tinf_candidates(1.5)) == 25
    assert tinf_candidates(2, (-0.5, -0.5, 0.25, 9)) == [(-half, y) for y in (F(1, 4), 1, 2)]


def test_tinf_candidates_are_complete() -> None:
    rng = np.random.default_rng(11)
    for _ in range(10):
        image, slope = random_image(rng), random_slope(rng)
        delta = float(rng.uniform(0, 3))
        box = random_box(rng, delta)
        i, j = int(rng.integers(image.shape[0])), int(rng.integers(image.shape[1]))
        values = [
            value(image, i, j, x, y) + F(slope[0]) * x + F(slope[1]) * y
            for x, y in tinf_candidates(delta, box)
        ]
        assert pixel_minimum(image, i, j, "inf", delta, box, slope) == (min(values), min(values))


def test_plane_optimum() -> None:
    corners = [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    assert plane_optimum(corners, [1, 2, 3, 4]) == pytest.approx(10)
    assert plane_optimum(corners, [0, 0, 0, 1]) == pytest.approx(0)
    # A roof: the plane below |x| at -1, 0, 1 is zero.
    assert plane_optimum([(-1, 0), (0, 0), (1, 0)], [1, 0, 1]) == pytest.approx(0)
    assert plane_optimum([(-1, 0), (0, 0), (1, 0)], [0, 1, 0]) == pytest.approx(0)
    assert plane_optimum([(0.5, 0.5)], [0.75]) == pytest.approx(0.75)


def test_plane_optimum_is_the_hull_at_the_centroid() -> None:
    # By duality: K times the lowest convex combination of values over the centroid; the optimal
    # triangle of points around the centroid is found by brute force.
    rng = np.random.default_rng(12)
    points = rng.uniform(-1, 1, (9, 2))
    values = rng.random(9)
    centre = points.mean(axis=0)
    best = math.inf
    for triple in itertools.combinations(range(9), 3):
        chosen = list(triple)
        system = np.vstack([points[chosen].T, np.ones(3)])
        shares = np.linalg.solve(system, [*centre, 1.0])
        if np.all(shares >= -1e-12):
            best = min(best, float(shares @ values[chosen]))
    assert plane_optimum(points, values) == pytest.approx(9 * best, abs=1e-9)


def test_nearest_member_by_hand() -> None:
    field = np.zeros((1, 2, 2))
    field[0, 1, 0] = 1.0
    assert nearest_member_linf(field, 1.0, -1, 1) == pytest.approx(0)
    assert nearest_member_linf(field, 0.5, -1, 1) == pytest.approx(0.25)
    assert nearest_member_linf(field, 0.0, -1, 1) == pytest.approx(0.5)
    assert nearest_member_linf(field, 0.5, -1, 0.25) == pytest.approx(0.75)
    assert nearest_member_linf(field, math.inf, -1, 0.25) == pytest.approx(0.75)
    upper = np.ones((1, 2, 2))
    lower = -upper
    upper[0, 0], lower[0, 1] = -0.5, 0.5
    assert nearest_member_linf(field, 1.0, lower, upper) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="no field fits"):
        nearest_member_linf(field, 0.9, lower, upper)
    with pytest.raises(ValueError, match="no field fits"):
        nearest_member_linf(field, 1.0, 1, -1)


def test_nearest_member_agrees_with_the_closed_form() -> None:
    # A field u with |u - v| <= t exists iff the bounds max(lo, v - t) and min(hi, v + t) leave
    # room for each pair of pixels after gamma times their distance.
    rng = np.random.default_rng(13)
    for _ in range(8):
        field = rng.uniform(-1, 1, (3, 4, 2))
        gamma = float(rng.uniform(0, 0.5))
        centre = rng.uniform(-0.1, 0.1, field.shape)
        lo, hi = centre - 0.3, centre + rng.uniform(0.0, 0.5, field.shape)
        rows, columns = np.mgrid[:3, :4].reshape(2, -1)
        steps = abs(rows[:, None] - rows) + abs(columns[:, None] - columns)
        needed, room = 0.0, math.inf
        for k in range(2):
            v, low, high = (a[..., k].ravel() for a in (field, lo, hi))
            room = min(room, float((high[:, None] - low + gamma * steps).min()))
            needed = max(
                needed,
                float((v[:, None] - v - gamma * steps).max()) / 2,
                float((v[:, None] - high - gamma * steps).max()),
                float((low[:, None] - v - gamma * steps).max()),
            )
        if room < 0:
            with pytest.raises(ValueError, match="no field fits"):
                nearest_member_linf(field, gamma, lo, hi)
        else:
            assert nearest_member_linf(field, gamma, lo, hi) == pytest.approx(needed, abs=1e-8)


SAMPLED: list[Box | None] = [
    None,
    (-0.3, 9, -9, 0.1),
    (0.5, 9, 0.125, 0.3),
    (0.25, 0.25, 0.125, 0.125),
    (0.7, 0.7, -9, 9),
    (0.7, 9, -math.inf, math.inf),
    (0, 0, -9, 9),
]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.7, 1.0, 3.7])
@pytest.mark.parametrize("box", SAMPLED)
def test_samples_lie_in_the_region(norm: float, delta: float, box: Box | None) -> None:
    where = region(norm, delta, box)
    points = dense_samples(norm, delta, 200, np.random.default_rng(14), box)
    assert points.shape == (200, 2)
    assert all(where.contains(x, y) for x, y in points)


@pytest.mark.parametrize("norm", NORMS)
def test_many_samples_lie_on_the_boundary(norm: float) -> None:
    points = dense_samples(norm, 1.3, 600, np.random.default_rng(15))
    size = np.linalg.norm(points, ord=norm, axis=1)
    assert np.mean(size > 1.3 - 1e-14) > 0.3
    assert np.mean(size < 1.2) > 0.1
    for x, y in itertools.product((1, -1), repeat=2):
        assert np.any((points[:, 0] * x > 0) & (points[:, 1] * y > 0) & (size > 1.3 - 1e-14))
    if norm != math.inf:
        for end in ((1.3, 0), (-1.3, 0), (0, 1.3), (0, -1.3)):
            assert np.any(np.all(points == end, axis=1))


def test_samples_of_odd_regions() -> None:
    rng = np.random.default_rng(16)
    assert dense_samples(2, 0, 3, rng).tolist() == [[0, 0]] * 3
    assert dense_samples(2, 1, 0, rng).shape == (0, 2)
    assert dense_samples(2, 1, 5, rng, (1, 4, -1, 1)).tolist() == [[1, 0]] * 5
    with pytest.raises(ValueError, match="no point with float"):
        dense_samples(2, 1, 5, rng, (F(1, 3), F(1, 3), 0, 0))
    with pytest.raises(ValueError, match="no displacement"):
        dense_samples(2, 1, 5, rng, (2, 3, 0, 0))
