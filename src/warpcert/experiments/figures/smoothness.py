"""`draw_smoothness`: how many images are certified as fields may be rougher, gamma up to inf."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from warpcert.experiments.cells import Cell
from warpcert.experiments.figures.panels import COLOURS, DPI, MARKS, share_axis
from warpcert.run.report.style import house_style
from warpcert.run.report.words import write_number

SIZE = (3.6, 2.5)  # inches
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
DIGITS = 6  # of a tick, which is 0.3, and not the sum of 0.1 and 0.2
FREE = 0.2  # how far right of the last finite gamma inf is put, in widths of the finite part


def draw_smoothness(curves: Mapping[float, Mapping[float, Cell]], *, title: str = "") -> Figure:
    """Draw a curve of certified shares over gamma for each delta; inf stands apart at the right.

    The whisker above a point ends where an attack takes over: what is in between is undecided.
    """
    gammas = [gamma for cells in curves.values() for gamma in cells]
    finite = [gamma for gamma in gammas if gamma < math.inf]
    if not finite:
        raise ValueError("there is no finite gamma to draw a curve over: give at least one")
    low, high = min(finite), max(finite)
    width = (high - low) or 1.0
    free = high + FREE * width
    with house_style():
        figure = Figure(SIZE, DPI, layout="constrained")
        axes = figure.subplots()
        share_axis(axes)
        nudge = 0.012 * width  # whiskers of curves that run together stay apart
        for k, (delta, cells) in enumerate(curves.items()):
            shift = (k - (len(curves) - 1) / 2) * nudge
            _draw_curve(axes, cells, free, shift, k, f"δ = {write_number(delta)}")
        _mark_axis(axes, low, high, free, math.inf in gammas)
        axes.set_ylabel("certified, of correct images", size=8)
        axes.set_xlabel("γ (pixels)", size=8)
        axes.set_title(title, size=9, loc="left")
        handles, _ = axes.get_legend_handles_labels()
        whisker = Line2D([], [], color="0.4", marker="|", ls="none", ms=8, label="undecided")
        axes.legend(
            handles=[*handles, whisker], fontsize=7, frameon=False, loc="center left",
            bbox_to_anchor=(1.0, 0.5),
        )  # fmt: skip
    return figure


def _draw_curve(
    axes: Axes, cells: Mapping[float, Cell], free: float, shift: float, k: int, label: str
) -> None:
    gammas = sorted(gamma for gamma, cell in cells.items() if cell.correct)
    certified = [cells[gamma].certified / cells[gamma].correct for gamma in gammas]
    undecided = [cells[gamma].undecided / cells[gamma].correct for gamma in gammas]
    x = [min(gamma, free) + shift for gamma in gammas]
    finite = sum(gamma < math.inf for gamma in gammas)
    colour = COLOURS[k % len(COLOURS)]
    look: dict[str, Any] = {"color": colour, "marker": MARKS[k % len(MARKS)], "ms": 4}
    axes.plot(
        x[:finite], certified[:finite], ls=DASHES[k % len(DASHES)], lw=1.3, label=label,
        clip_on=False, **look,
    )  # fmt: skip
    axes.plot(x[finite:], certified[finite:], ls="none", clip_on=False, **look)
    axes.errorbar(
        x, certified, yerr=[[0.0] * len(x), undecided], fmt="none", ecolor=colour, elinewidth=0.6,
        capsize=1.8, clip_on=False, zorder=1.5,
    )  # fmt: skip


def _mark_axis(axes: Axes, low: float, high: float, free: float, broken: bool) -> None:
    """Ticks, and the place where the axis jumps to infinity."""
    margin = 0.04 * (free - low)
    axes.set_xlim(low - margin, (free if broken else high) + margin)
    ticks = [round(float(tick), DIGITS) for tick in axes.get_xticks()]
    inner = [tick for tick in ticks if low <= tick <= high]
    names = [write_number(tick) for tick in inner]
    axes.set_xticks([*inner, free] if broken else inner, [*names, "∞"] if broken else names)
    if broken:
        middle, step = (high + free) / 2, 0.012 * (free - low)
        for x in (middle - step, middle + step):
            axes.plot(
                [x - step, x + step], [-0.025, 0.025], color="black", lw=0.8, clip_on=False,
                transform=axes.get_xaxis_transform(),
            )  # fmt: skip
