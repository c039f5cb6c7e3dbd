"""The oracle of patterns against what can be seen by other means."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.oracle.patterns import evaluate, lowest


def test_a_tent() -> None:
    """1 - |x| on [-2, 0.5], as 1 - relu(x) - relu(-x): least at -2."""
    layers = [
        (np.array([[1.0], [-1.0]]), np.zeros(2)),
        (np.array([[-1.0, -1.0]]), np.ones(1)),
    ]
    found = lowest(layers, np.ones(1), np.array([-2.0]), np.array([0.5]))
    assert found.value == pytest.approx(-1) and found.point == pytest.approx([-2])
    found = lowest(layers, -np.ones(1), np.array([-2.0]), np.array([0.5]))
    assert found.value == pytest.approx(-1) and found.point == pytest.approx([0])


@pytest.mark.parametrize("seed", range(8))
def test_no_sample_is_lower_and_the_point_is_as_low(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = [2, 3, 3, 2]
    layers = [
        (random.normal(size=(out, size)), random.normal(size=out))
        for size, out in itertools.pairwise(sizes)
    ]
    row = random.normal(size=2)
    lower, upper = -np.ones(2), np.array([1.0, 0.5])
    found = lowest(layers, row, lower, upper)
    assert row @ evaluate(layers, found.point) == pytest.approx(found.value, abs=1e-7)
    grid = np.stack(np.meshgrid(*np.linspace(lower, upper, 61).T), axis=-1).reshape(-1, 2)
    samples = np.array([row @ evaluate(layers, x) for x in grid])
    assert samples.min() >= found.value - 1e-7
    assert samples.min() <= found.value + 0.5  # the grid is fine enough to come near
