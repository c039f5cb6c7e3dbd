"""The straightforward way, one pixel at a time: what the package is measured against.

Written for clarity as one would write it first: a polynomial root finder for each arc, one linear
program for each plane. Not rigorous (no rounding is accounted for), and exact otherwise.
"""

from __future__ import annotations

import itertools
import math

import highspy
import numpy as np

Patch = np.ndarray
QUADRANTS = tuple(itertools.product((1, -1), (1, -1)))


def pixel_interval(patch: Patch, norm: float, delta: float) -> tuple[float, float]:
    """Smallest and largest value of a pixel, delta <= 1; ``patch`` is its 3 x 3 neighbourhood."""
    values = []
    for across, down in QUADRANTS:
        near, b, c = patch[1, 1], patch[1, 1 + across], patch[1 + down, 1]
        b, c, d = b - near, c - near, patch[1 + down, 1 + across] - b - c + near
        for v, w in _places(norm, delta, b, c, d):
            values.append(near + b * v + c * w + d * v * w)
    return min(values), max(values)


def _places(norm: float, delta: float, b: float, c: float, d: float) -> list[tuple[float, float]]:
    """Where a bilinear function can be extreme on the quadrant of the ball."""
    places = [(0.0, 0.0), (delta, 0.0), (0.0, delta)]
    if norm == math.inf:
        places.append((delta, delta))
    if norm == 1 and d != 0:
        vertex = (b - c + d * delta) / (2 * d)
        if 0 < vertex < delta:
            places.append((vertex, delta - vertex))
    if norm == 2:
        p, q, r = b * delta, c * delta, d * delta**2
        # -p sin + q cos + r cos 2theta = 0 in t = tan(theta / 2), a quartic.
        for root in np.roots([r - q, -2 * p, -6 * r, -2 * p, q + r]):
            if abs(root.imag) < 1e-9 and 0 < root.real < 1:
                angle = 2 * math.atan(root.real)
                places.append((delta * math.cos(angle), delta * math.sin(angle)))
    return places


def pixel_plane(patch: Patch, delta: float, solver: highspy.Highs) -> tuple[float, float, float]:
    """The highest plane below a pixel's nine candidates (norm inf, delta <= 1), by one LP."""
    rows, values = [], []
    for y, x in itertools.product((-1, 0, 1), (-1, 0, 1)):
        corner, side = patch[1 + y, 1 + x], abs(x) * (1 - delta)
        row = patch[1 + y, 1] * side + corner * (delta if x else 1.0)
        middle = patch[1, 1] * side + patch[1, 1 + x] * (delta if x else 1.0)
        values.append(row * (delta if y else 1.0) + middle * (1 - delta) * abs(y))
        rows.append([1.0, x * delta, y * delta])
    matrix = np.array(rows)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = 3, 9
    program.col_cost_ = -matrix.sum(0)
    program.col_lower_, program.col_upper_ = np.full(3, -np.inf), np.full(3, np.inf)
    program.row_lower_, program.row_upper_ = np.full(9, -np.inf), np.array(values)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.arange(0, 28, 3)
    program.a_matrix_.index_ = np.tile(np.arange(3), 9)
    program.a_matrix_.value_ = matrix.ravel()
    solver.passModel(program)
    solver.run()
    constant, dx, dy = solver.getSolution().col_value
    return constant, dx, dy


def quiet_solver() -> highspy.Highs:
    """A HiGHS that prints nothing."""
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    return solver
