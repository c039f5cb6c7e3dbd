"""Pictures of bent images show the image, the field and the verdict that they were given."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import warpcert as wc
from tests.experiments_figures.layout import assert_readable, texts
from warpcert.attacks import QUICK
from warpcert.experiments.figures import (
    Bent,
    Pane,
    Strip,
    draw_comparison,
    draw_introduction,
    find_worst,
)

GAMMAS = (math.inf, 0.1, 0.01)
DIGITS = wc.load_images("mnist:0-2")[0]
FIELD = torch.zeros((28, 28, 2), dtype=torch.float64)
FIELD[..., 0] = 0.3  # dx: to the right


def shown(**cells: Pane) -> Strip:
    named = {float(gamma): cell for gamma, cell in zip(GAMMAS, cells.values(), strict=False)}
    return Strip(0.3, DIGITS[0], 7, named)


def test_the_worst_field_is_of_the_threat() -> None:
    network, threat = wc.load_network("mnist-convsmall-pgd"), wc.Threat("inf", 1.0)
    found = find_worst(network, DIGITS[0], 7, threat, method=QUICK)
    assert bool(threat.contains(found.field[None]).all())
    warped = wc.warp(DIGITS[:1].double(), found.field[None])
    assert found.seen == int(network.to(dtype=torch.float64)(warped).argmax()) != 7


def test_introduction() -> None:
    threats = (wc.Threat("inf", 1.0), wc.Threat("inf", 3.0, 0.25))
    bent = {threats[0]: Bent(FIELD, 3), threats[1]: Bent(10 * FIELD, 7)}
    figure = draw_introduction(DIGITS[0], 7, bent)
    assert_readable(figure)
    assert [t for t in texts(figure) if "label" in t] == [
        "original\nlabel 7",
        "δ = 1, γ = ∞\nlabel 7 → 3",
        "δ = 3, γ = 0.25\nlabel 7",
    ]
    pictures = [np.asarray(a.images[0].get_array()) for a in figure.axes if a.images]
    assert np.array_equal(pictures[0], DIGITS[0, 0])
    assert np.array_equal(pictures[2], wc.warp(DIGITS[:1].double(), 10 * FIELD[None])[0, 0])
    arrows = [q for a in figure.axes for q in a.collections]
    assert [len(q.U) for q in arrows] == [196, 196]  # type: ignore[attr-defined]  # a quiver
    assert all((q.U > 0).all() and (q.V == 0).all() for q in arrows)  # type: ignore[attr-defined]
    ratio = arrows[1].U[0] / arrows[0].U[0]  # type: ignore[attr-defined]
    assert ratio == pytest.approx(10 / 3)  # relative to delta, 1 and 3


def test_comparison_says_what_is_known() -> None:
    rows = [
        shown(
            a=Pane(wc.Status.FALSIFIED, Bent(FIELD, 2)),
            b=Pane(wc.Status.UNKNOWN, Bent(FIELD, 7)),
            c=Pane(wc.Status.CERTIFIED, Bent(FIELD, 7)),
        ),
        shown(a=Pane(wc.Status.CERTIFIED, None)),
    ]
    figure = draw_comparison(rows, GAMMAS)
    assert_readable(figure)
    below = [t for t in texts(figure) if t.startswith("label") or t == "–"]
    assert below == [
        "label 7",
        "label 2 (adversarial)",
        "label 7 (undecided)",
        "label 7 (certified)",
        "label 7",
        "label 7 (certified)",
        "–",
        "–",
    ]
    assert {"original", "γ = ∞", "γ = 0.1", "γ = 0.01", "δ = 0.3"} <= {*texts(figure)}


def test_a_picture_does_not_contradict_itself() -> None:
    with pytest.raises(ValueError, match="shown by the field"):
        Pane(wc.Status.FALSIFIED, None)
    with pytest.raises(wc.Unsound, match=r"label 7 is certified at delta 0\.3, gamma inf"):
        shown(a=Pane(wc.Status.CERTIFIED, Bent(FIELD, 2)))
