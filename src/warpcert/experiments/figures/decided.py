"""`draw_decided`: certified, attacked and undecided as delta grows, a panel for each network."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from warpcert.experiments.cells import Cell
from warpcert.experiments.figures.panels import DPI, FALSIFIED, share_axis, write_n
from warpcert.run.report.style import house_style

ACROSS, WIDE, HIGH, LEGEND = 3, 2.35, 1.75, 0.3  # panels in a row, and inches

# Dark, white with lines, light: told apart without colours, and by any eye.
LOOKS: dict[str, dict[str, Any]] = {
    "attacked": {"facecolor": FALSIFIED, "edgecolor": "none"},
    "undecided": {"facecolor": "white", "edgecolor": "0.3", "hatch": "/////", "linewidth": 0},
    "certified": {"facecolor": "#0072b2", "edgecolor": "none"},
}

LETTERS = 28
"""That fit above a panel, about."""


def draw_decided(
    networks: Mapping[str, Mapping[float, Cell]], *, along: str = "δ (pixels)"
) -> Figure:
    """Draw, for each network, the shares of its correct images, one upon the other.

    Cells are by delta. Points without a correct image are left out.
    """
    if not networks:
        raise ValueError("there is no network to draw: give at least one")
    columns = min(ACROSS, len(networks))
    rows = -(-len(networks) // columns)
    with house_style():
        figure = Figure((WIDE * columns + 0.2, HIGH * rows + LEGEND), DPI, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (name, cells) in zip(panels, networks.items(), strict=False):
            _draw_panel(axes, name, cells)
            axes.set_xlabel(along, size=7.5)
        for axes in panels[len(networks) :]:
            axes.set_axis_off()
        for axes in panels[::columns]:
            axes.set_ylabel("correct images", size=7.5)
        signs = [Patch(label=name, **look) for name, look in LOOKS.items()]
        figure.legend(handles=signs, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def _draw_panel(axes: Axes, name: str, cells: Mapping[float, Cell]) -> None:
    at = sorted(value for value, cell in cells.items() if cell.correct)
    points = [cells[value] for value in at]
    share_axis(axes)
    n = write_n(cell.correct for cell in points)
    lines = fill(f"{name} ({n})", LETTERS, break_on_hyphens=False)
    axes.set_title(lines, size=8, loc="left")
    if not points:
        return
    certified = [cell.certified / cell.correct for cell in points]
    standing = [1 - cell.falsified / cell.correct for cell in points]
    axes.fill_between(at, 0, certified, **LOOKS["certified"])
    axes.fill_between(at, certified, standing, **LOOKS["undecided"])
    axes.fill_between(at, standing, 1, **LOOKS["attacked"])
    axes.plot(at, certified, color="black", lw=1.0, marker="o", ms=2.5, clip_on=False, zorder=3)
    axes.plot(at, standing, color="black", lw=1.0, marker="^", ms=2.5, clip_on=False, zorder=3)
    axes.set_xlim(at[0], at[-1] if at[-1] > at[0] else at[0] + 1)
