"""Verdicts that cannot both be true are found, and others pass."""

from __future__ import annotations

import math
from itertools import permutations

import pytest

from tests.run import tiny
from warpcert.core import Unsound
from warpcert.run import Consistency, Item

LARGE, SMALL = (0.2, 0.1), (0.1, 0.05)


def add(*verdicts: tuple[tuple[float, float], str]) -> None:
    consistency = Consistency()
    for (delta, gamma), status in verdicts:
        consistency.add(tiny.row(Item(delta, gamma, 3, 3), status))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((SMALL, "falsified"), (LARGE, "certified")),
        (((0.2, 0.05), "falsified"), (LARGE, "certified")),
        (((0.1, 0.1), "falsified"), (LARGE, "certified")),
        ((LARGE, "falsified"), (LARGE, "certified")),
        (((0.2, 5.0), "falsified"), ((0.2, math.inf), "certified")),
        ((LARGE, "misclassified"), (SMALL, "certified")),
    ],
)
def test_contradictions(one: tuple, other: tuple) -> None:
    for pair in permutations((one, other)):
        with pytest.raises(Unsound, match=r"some\.npz\[3\] is certified for delta"):
            add(*pair)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((LARGE, "falsified"), (SMALL, "certified")),
        (((0.1, 0.2), "falsified"), ((0.2, 0.1), "certified")),
        (((0.2, 0.05), "falsified"), ((0.1, 0.1), "certified")),
        ((SMALL, "falsified"), (LARGE, "unknown")),
        ((SMALL, "falsified"), (LARGE, "falsified")),
        ((SMALL, "certified"), (LARGE, "certified")),
        ((SMALL, "misclassified"), (LARGE, "misclassified")),
    ],
)
def test_verdicts_that_agree(one: tuple, other: tuple) -> None:
    for pair in permutations((one, other)):
        add(*pair)


def test_images_are_not_compared_with_each_other() -> None:
    consistency = Consistency()
    consistency.add(tiny.row(Item(*SMALL, 3, 3), "falsified"))
    consistency.add(tiny.row(Item(*LARGE, 4, 4), "certified"))
