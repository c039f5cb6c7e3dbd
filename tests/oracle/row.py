"""The exact minimum of a small ReLU network over bent images of one row, by a mixed program.

In an image of one row only the displacements along the row count: interpolation between rows
reads the same row twice. Along the row a pixel's value is linear between integer displacements,
so with one binary for each such cell and one for each ReLU the problem is an integer program,
exact for every gamma. And as no displacement across is needed, all norms give the same images.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp

Array = npt.NDArray[np.float64]
Layer = tuple[Array, Array]
"""A matrix (out, in) and a bias (out,); ReLUs stand between layers."""


class _Program:
    """Columns with their ends, rows with theirs; built up one by one."""

    def __init__(self) -> None:
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.whole: list[int] = []
        self.rows: list[tuple[dict[int, float], float, float]] = []

    def column(self, lower: float, upper: float, whole: bool = False) -> int:
        self.lower.append(lower)
        self.upper.append(upper)
        self.whole.append(int(whole))
        return len(self.lower) - 1

    def row(self, terms: dict[int, float], lower: float, upper: float) -> None:
        self.rows.append((terms, lower, upper))

    def minimise(self, cost: dict[int, float]) -> tuple[float, Array]:
        size = len(self.lower)
        matrix = np.zeros((len(self.rows), size))
        for k, (terms, _, _) in enumerate(self.rows):
            for place, value in terms.items():
                matrix[k, place] += value
        weights = np.zeros(size)
        for place, value in cost.items():
            weights[place] += value
        found = milp(
            weights,
            integrality=np.array(self.whole),
            bounds=Bounds(np.array(self.lower), np.array(self.upper)),
            constraints=LinearConstraint(
                matrix, np.array([r[1] for r in self.rows]), np.array([r[2] for r in self.rows])
            ),
            options={"mip_rel_gap": 0.0},
        )
        assert found.status == 0, found.message
        return float(found.fun), np.asarray(found.x)


def lowest_row(
    layers: Sequence[Layer], image: Array, row: Array, delta: float, gamma: float
) -> tuple[float, Array]:
    """Minimise <row, scores> over the bent versions of an image (C, W), and displacements (W,)."""
    program = _Program()
    moves, pixels = _pixels(program, image, delta, gamma)
    values: list[int] = pixels.ravel().tolist()
    low, high = (np.array([end[k] for k in values]) for end in (program.lower, program.upper))
    for weight, bias in layers[:-1]:
        centre, radius = weight @ (low + high) / 2 + bias, np.abs(weight) @ (high - low) / 2
        low, high = centre - radius, centre + radius
        made = []
        for neuron, (least, most) in enumerate(zip(low, high, strict=True)):
            z = program.column(least, most)
            terms = {k: float(w) for k, w in zip(values, weight[neuron], strict=True)}
            program.row({**terms, z: -1.0}, -float(bias[neuron]), -float(bias[neuron]))
            made.append(_relu(program, z, float(least), float(most)))
        values, low, high = made, np.maximum(low, 0), np.maximum(high, 0)
    weight, bias = layers[-1]
    slope = row @ weight
    cost = {k: float(w) for k, w in zip(values, slope, strict=True)}
    least, point = program.minimise(cost)
    return least + float(row @ bias), point[moves]


def _pixels(
    program: _Program, image: Array, delta: float, gamma: float
) -> tuple[list[int], npt.NDArray[np.int64]]:
    """Columns of the displacements (W,) and of the bent pixels (C, W)."""
    channels, width = image.shape
    moves: list[int] = []
    columns = np.zeros((channels, width), dtype=np.int64)
    stops = sorted({-delta, delta, *(float(t) for t in range(math.ceil(-delta), int(delta) + 1))})
    for j in range(width):
        at = [min(max(j + stop, 0.0), width - 1.0) for stop in stops]
        shares = [program.column(0, 1) for _ in stops]
        cells = [program.column(0, 1, whole=True) for _ in stops[1:]] or []
        program.row(dict.fromkeys(shares, 1.0), 1, 1)
        if cells:
            program.row(dict.fromkeys(cells, 1.0), 1, 1)
        for k, share in enumerate(shares):  # weight only at the ends of the chosen cell
            around = {cells[c]: -1.0 for c in (k - 1, k) if 0 <= c < len(cells)}
            if around:
                program.row({share: 1.0, **around}, -math.inf, 0)
        move = program.column(-delta, delta)
        terms = {share: stop for share, stop in zip(shares, stops, strict=True) if stop}
        program.row({**terms, move: -1.0}, 0, 0)
        moves.append(move)
        for c in range(channels):
            seen = [_value(image[c], x) for x in at]
            pixel = program.column(min(seen), max(seen))
            parts = {share: value for share, value in zip(shares, seen, strict=True) if value}
            program.row({**parts, pixel: -1.0}, 0, 0)
            columns[c, j] = pixel
    if math.isfinite(gamma):
        for here, there in itertools.pairwise(moves):
            program.row({here: 1.0, there: -1.0}, -gamma, gamma)
    return moves, columns


def _value(line: Array, x: float) -> float:
    """A line of pixels at a place within it."""
    left = min(int(x), len(line) - 1)
    right = min(left + 1, len(line) - 1)
    return float(line[left] + (x - left) * (line[right] - line[left]))


def _relu(program: _Program, z: int, low: float, high: float) -> int:
    """A column that is the positive part of another."""
    if low >= 0:
        return z
    unit = program.column(0, max(high, 0))
    if high > 0:
        on = program.column(0, 1, whole=True)
        program.row({unit: 1.0, z: -1.0}, 0, math.inf)
        program.row({unit: 1.0, on: -high}, -math.inf, 0)
        program.row({unit: 1.0, z: -1.0, on: -low}, -math.inf, -low)
    return unit
