"""Curves and bars have the heights of their counts, and can be read."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.experiments_figures.layout import assert_readable, texts
from warpcert.experiments.cells import Cell
from warpcert.experiments.figures import (
    Bars,
    Beside,
    draw_decided,
    draw_headline,
    draw_relaxations,
    draw_smoothness,
)

CELLS = {0.6: Cell(0, 10, 0), 0.2: Cell(10, 0, 0), 0.4: Cell(4, 1, 5)}


def test_decided() -> None:
    long = "Fashion-MNIST ConvSmall, spatially certified"
    names = ["mnist-convsmall-spatial", long, long + " ", "cifar10-convbig-spatial"]
    figure = draw_decided(dict.fromkeys(names, CELLS))
    assert_readable(figure)
    told = [a.get_title("left").split() for a in figure.axes[:4]]
    assert told == [f"{n} (n = 10)".split() for n in names]
    certified, standing = figure.axes[0].lines
    assert np.asarray(certified.get_xydata()).tolist() == [[0.2, 1], [0.4, 0.4], [0.6, 0]]
    assert np.asarray(standing.get_ydata()).tolist() == [1, 0.9, 0]
    bands = figure.axes[0].collections
    assert [band.get_hatch() is None for band in bands] == [True, False, True]
    middle = bands[1].get_paths()[0].vertices
    assert {(x, y) for x, y in np.asarray(middle).tolist() if x == 0.4} == {(0.4, 0.4), (0.4, 0.9)}
    assert {"certified", "undecided", "attacked"} <= {*texts(figure)}


def test_decided_without_images() -> None:
    figure = draw_decided({"some": {**CELLS, 0.8: Cell(), 0.7: Cell(1, 0, 2)}, "none": {}})
    assert [a.get_title("left") for a in figure.axes] == [
        "some (n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}3–10)",
        "none (no images)",
    ]
    with pytest.raises(ValueError, match="no network to draw"):
        draw_decided({})


def test_smoothness() -> None:
    curve = {g: Cell(8 - k, 1, 1 + k) for k, g in enumerate((0.0, 0.1, 0.3, math.inf))}
    finite = {g: cell for g, cell in curve.items() if g < math.inf}
    figure = draw_smoothness({0.3: curve, 0.5: finite}, title="mnist-convsmall-ibp")
    assert_readable(figure)
    (axes,) = figure.axes
    bounded, free = axes.lines[0], axes.lines[1]
    assert np.asarray(bounded.get_ydata()).tolist() == [0.8, 0.7, 0.6]
    assert np.asarray(free.get_ydata()).tolist() == [0.5]
    assert np.asarray(free.get_xdata())[0] > 0.3
    ticks = [t.get_text() for t in axes.get_xticklabels()]
    assert ticks[0] == "0" and ticks[-2:] == ["0.3", "∞"]
    assert {"δ = 0.3", "δ = 0.5", "undecided"} <= {*texts(figure)}


def test_smoothness_without_infinity() -> None:
    curve = {g: Cell(8, 1, 1) for g in (0.0, 0.1)}
    figure = draw_smoothness({0.3: curve})
    assert "∞" not in texts(figure)
    with pytest.raises(ValueError, match="no finite gamma"):
        draw_smoothness({0.3: {math.inf: Cell(1, 1, 1)}})


def test_relaxations() -> None:
    rates = Bars("hull against planes", "certified (%)", ["δ=0.3", "δ=0.5"],
                 {"planes": [90, 40], "hull": [95, 60]})  # fmt: skip
    margins = Bars("hull against box", "mean margin", ["δ=0.3", "δ=0.5"],
                   {"box": [-0.5, -1.25], "hull": [0.3, None]}, digits=2)  # fmt: skip
    figure = draw_relaxations([rates, margins])
    assert_readable(figure)
    heights = [[p.get_height() for p in axes.patches] for axes in figure.axes]  # type: ignore[attr-defined]  # rectangles
    assert heights == [[90, 40, 95, 60], [-0.5, -1.25, 0.3]]
    assert {"90", "60", "-1.25", "0.30", "–"} <= {*texts(figure)}
    with pytest.raises(ValueError, match="hull has 1 values for 2 settings"):
        Bars("", "", ["a", "b"], {"hull": [1]})
    with pytest.raises(ValueError, match="nothing to compare"):
        draw_relaxations([])


def test_headline() -> None:
    cells = [Cell(8, 1, 1, seconds=0.5), Cell(5, 5, 0, seconds=2.0), Cell()]
    settings = [
        Beside(gamma, rate, seconds, cell)
        for gamma, rate, seconds, cell in zip("∞12", (70, 90, 1), (10, 300, 1), cells, strict=True)
    ]
    names = ["MNIST ConvSmall, spatial PGD", "CIFAR-10 ConvSmall, L∞ certified", "short"]
    figure = draw_headline(dict.fromkeys(names, settings), along="γ", published="the paper's MILP")
    assert_readable(figure)
    rates, seconds = figure.axes[0], figure.axes[3]
    heights = [(p.get_y(), p.get_height()) for p in rates.patches]  # type: ignore[attr-defined]  # rectangles
    wanted = [(0, 0.7), (0, 0.9), (0, 0.8), (0, 0.5), (0.8, 0.1), (0.5, 0)]
    np.testing.assert_allclose(heights, wanted, atol=1e-12)
    theirs, ours = (np.asarray(line.get_ydata()).tolist() for line in seconds.lines)
    assert theirs == [10, 300] and ours == [0.5, 2.0]
    assert [a.get_title("left").split() for a in figure.axes[:3]] == [
        f"{name} (n = 10)".split() for name in names
    ]
    assert {"the paper's MILP", "ours", "ours, undecided", "∞", "1"} <= {*texts(figure)}
    assert "2" not in texts(figure)  # no image is asked about there
    with pytest.raises(ValueError, match="no network to draw"):
        draw_headline({}, along="γ", published="")
