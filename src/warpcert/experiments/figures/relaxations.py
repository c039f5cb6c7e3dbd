"""`draw_relaxations`: what one relaxation achieves beside another, setting by setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from warpcert.experiments.figures.panels import COLOURS, DPI
from warpcert.run.report.style import house_style
from warpcert.run.report.words import DASH

HATCHES = ("", "////", "....", "xxxx")
HIGH, BAR, LETTER, MARGIN = 2.3, 0.29, 0.068, 0.65  # inches: a panel, a bar, a title's letter


@dataclass(frozen=True)
class Bars:
    """Values of several relaxations in the same settings; None where there is none.

    ``values`` has for each relaxation one value for each setting; ``what`` says what they are, and
    ``digits`` how many decimals are written above them.
    """

    title: str
    what: str
    settings: Sequence[str]
    values: Mapping[str, Sequence[float | None]]
    digits: int = 0

    def __post_init__(self) -> None:
        """Refuse values without a setting."""
        for name, values in self.values.items():
            if len(values) != len(self.settings):
                raise ValueError(
                    f"{name} has {len(values)} values for {len(self.settings)} settings"
                )


def draw_relaxations(panels: Sequence[Bars]) -> Figure:
    """Draw a panel for each comparison, its values written above the bars."""
    if not panels:
        raise ValueError("there is nothing to compare: give at least one panel")
    widths = [
        MARGIN + max(BAR * (len(p.values) + 0.5) * len(p.settings), LETTER * len(p.title))
        for p in panels
    ]
    with house_style():
        figure = Figure((sum(widths), HIGH), DPI, layout="constrained")
        row = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)[0]
        for axes, panel in zip(row, panels, strict=True):
            _draw_bars(axes, panel)
    return figure


def _draw_bars(axes: Axes, panel: Bars) -> None:
    names = list(panel.values)
    thick = 0.8 / max(len(names), 1)
    known = [v for values in panel.values.values() for v in values if v is not None]
    for k, name in enumerate(names):
        places = [i + (k - (len(names) - 1) / 2) * thick for i in range(len(panel.settings))]
        some = [(x, v) for x, v in zip(places, panel.values[name], strict=True) if v is not None]
        bars = axes.bar(
            [x for x, _ in some], [v for _, v in some], 0.92 * thick, label=name,
            color=COLOURS[k % len(COLOURS)], edgecolor="white", hatch=HATCHES[k % len(HATCHES)],
            linewidth=0,
        )  # fmt: skip
        axes.bar_label(bars, [f"{v:.{panel.digits}f}" for _, v in some], size=6.5, padding=1.5)
        for x, value in zip(places, panel.values[name], strict=True):
            if value is None:
                axes.text(x, 0, DASH, size=6.5, ha="center", va="bottom")
    axes.axhline(0, color="black", lw=0.8)
    low, high = min([0.0, *known]), max([0.0, *known])
    room = 0.12 * ((high - low) or 1.0)
    axes.set_ylim(low - (room if low < 0 else 0), high + room)
    axes.set_xlim(-0.6, len(panel.settings) - 0.4)
    axes.set_xticks(range(len(panel.settings)), list(panel.settings), size=7)
    axes.tick_params(axis="x", length=0)
    axes.tick_params(axis="y", labelsize=7)
    axes.set_ylabel(panel.what, size=8)
    axes.set_title(panel.title, size=8.5, loc="left")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(
        fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4,
        handlelength=1.4, columnspacing=1.2,
    )  # fmt: skip
