"""The exact minimum of a small ReLU network over a box, by trying every pattern of signs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

Array = npt.NDArray[np.float64]
Layer = tuple[Array, Array]
"""A matrix (out, in) and a bias (out,); ReLUs stand between layers."""


@dataclass(frozen=True)
class Lowest:
    """The least value of a row over the box, by linear programs, and a point where it is taken."""

    value: float
    point: Array


def evaluate(layers: Sequence[Layer], x: Array) -> Array:
    """The network's scores at x."""
    for weight, bias in layers[:-1]:
        x = np.maximum(weight @ x + bias, 0)
    weight, bias = layers[-1]
    return weight @ x + bias


def lowest(layers: Sequence[Layer], row: Array, lower: Array, upper: Array) -> Lowest:
    """Minimise <row, scores> over lower <= x <= upper.

    Once the signs of all neurons are given the network is linear and the points with these signs
    are a polytope: one linear program for each pattern, of which those that are empty from some
    neuron onwards are left out. The point is moved into the box, so it is a member.
    """
    search = _Search(layers, row, np.stack([lower, upper], axis=1))
    size = len(lower)
    search.deepen(0, 0, np.eye(size), np.zeros(size), [], [])
    point = np.clip(search.point, lower, upper)
    return Lowest(search.value, point)


class _Search:
    def __init__(self, layers: Sequence[Layer], row: Array, box: Array) -> None:
        self.layers, self.row, self.box = layers, row, box
        self.value, self.point = np.inf, box[:, 0]

    def deepen(
        self,
        number: int,
        neuron: int,
        matrix: Array,
        shift: Array,
        limits: list[tuple[Array, float]],
        signs: list[bool],
    ) -> None:
        """Decide the next neuron; ``matrix`` x + ``shift`` is what enters the layer."""
        weight, bias = self.layers[number]
        if number == len(self.layers) - 1:
            slope = self.row @ weight @ matrix
            self._minimise(slope, float(self.row @ (weight @ shift + bias)), limits)
            return
        if neuron == len(bias):
            on = np.array(signs, dtype=np.float64)
            made = on[:, None] * (weight @ matrix), on * (weight @ shift + bias)
            self.deepen(number + 1, 0, *made, limits, [])
            return
        slope, constant = weight[neuron] @ matrix, float(weight[neuron] @ shift + bias[neuron])
        middle, reach = slope @ self.box.mean(1) + constant, np.abs(slope) @ np.ptp(self.box, 1) / 2
        for sign in (True, False):
            if (middle + reach < 0) if sign else (middle - reach > 0):
                continue
            way = -1.0 if sign else 1.0
            more = [*limits, (way * slope, -way * constant)]
            known = middle - reach >= 0 or middle + reach <= 0
            if known or self._solve(0 * slope, more) is not None:
                self.deepen(number, neuron + 1, matrix, shift, more, [*signs, sign])

    def _minimise(self, slope: Array, constant: float, limits: list[tuple[Array, float]]) -> None:
        point = self._solve(slope, limits)
        if point is not None and slope @ point + constant < self.value:
            self.value, self.point = float(slope @ point + constant), point

    def _solve(self, cost: Array, limits: list[tuple[Array, float]]) -> Array | None:
        sides: dict[str, Any] = {}
        if limits:
            sides = {
                "A_ub": np.stack([slope for slope, _ in limits]),
                "b_ub": np.array([most for _, most in limits]),
            }
        found = linprog(cost, **sides, bounds=self.box, method="highs")
        return None if found.x is None else np.asarray(found.x)
