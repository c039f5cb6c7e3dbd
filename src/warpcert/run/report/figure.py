"""`draw_findings`: the table and the curves as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpcert.core import Status
from warpcert.run.report.columns import write_table
from warpcert.run.report.curves import DECIDED, Panel, split_panels
from warpcert.run.report.findings import Findings
from warpcert.run.report.table import Line, tabulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
WIDTH = 11.0  # inches
LINE, HEAD, PANEL = 0.27, 0.6, 2.9  # inches of height: a line of the table, titles, panels
ACROSS = 3  # panels side by side
MOST_LINES = 60
"""The most lines of the table that are drawn."""

LOOKS = {
    Status.CERTIFIED: {"color": "#0b7a53", "marker": "o", "linestyle": "-"},
    Status.FALSIFIED: {"color": "#c03a11", "marker": "^", "linestyle": "-"},
    Status.UNKNOWN: {"color": "#8a6100", "marker": "s", "linestyle": "--"},
}


def draw_findings(findings: Findings) -> Figure:
    """Draw the verdicts for each threat, and their shares against delta for each gamma."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - only pictures need it

    lines = tabulate(findings.rows)
    panels = split_panels(lines)
    shown = lines[:MOST_LINES]
    rows = -(-len(panels) // ACROSS)
    table, curves = LINE * (len(shown) + 1), PANEL * rows
    height = HEAD + table + curves
    figure = Figure((WIDTH, height), DPI)
    cut = "" if len(shown) == len(lines) else f" (the first {len(shown)} of {len(lines)} lines)"
    title = f"{findings.about.get('network', findings.path.name)}{cut}"
    figure.text(0.03, 1 - 0.18 / height, _plain(title), size=13, va="top")
    axes = figure.add_axes((0.03, (curves + 0.1) / height, 0.94, table / height))
    _draw_table(axes, shown)
    for k, panel in enumerate(panels):
        row, column = divmod(k, ACROSS)
        left, bottom = 0.07 + column * 0.32, curves - (row + 1) * PANEL + 0.65
        where = (left, bottom / height, 0.26, (PANEL - 1.15) / height)
        _draw_panel(figure.add_axes(where), panel)
    signs = figure.axes[1].get_legend_handles_labels()
    place = (0.03, (curves + 0.02) / height)
    figure.legend(
        *signs, loc="upper left", bbox_to_anchor=place, ncols=3, fontsize=8, frameon=False
    )
    return figure


def _draw_table(axes: Axes, lines: Sequence[Line]) -> None:
    from matplotlib.transforms import Bbox  # noqa: PLC0415 - only pictures need it

    columns = write_table(lines)
    axes.axis("off")
    table = axes.table(
        cellText=list(zip(*(column.cells for column in columns), strict=True)),
        colLabels=[column.heading for column in columns],
        cellLoc="right",
        bbox=Bbox.unit(),
    )
    table.auto_set_font_size(False)
    table.set_fontsize(8)
    table.auto_set_column_width(list(range(len(columns))))
    for (row, _), cell in table.get_celld().items():
        cell.set_edgecolor("#cccccc")
        cell.visible_edges = "B"
        if row == 0:
            cell.set_text_props(weight="bold")


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for status in DECIDED:
        points = [(x.delta, s) for x in panel.lines if (s := x.share(status)) is not None]
        xs, ys = ([point[i] for point in points] for i in (0, 1))
        axes.plot(xs, ys, label=status.value, zorder=5 - DECIDED.index(status), **LOOKS[status])  # type: ignore[arg-type]  # by name
    axes.set_ylim(-0.04, 1.04)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"], size=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(color="#e4e4e4", linewidth=0.7)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel("delta (pixels)", size=8)
    axes.set_ylabel("share of correct", size=8)
    axes.set_title(_plain(panel.title), size=9, loc="left")


def _plain(text: str) -> str:
    """The text as it is, not as mathematics, and on one line."""
    return " ".join(text.split()).replace("$", r"\$")[:120]
