"""`draw_headline`: published rates and times beside ours, a column for each network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from warpcert.experiments.cells import Cell
from warpcert.experiments.figures.panels import COLOURS, DPI, share_axis, write_n
from warpcert.run.report.style import house_style

WIDE, RATES, SECONDS = 1.55, 1.9, 1.35  # inches: a column, and its two panels
LETTERS = 20
"""That fit above a column, about."""
PUBLISHED, OURS = "0.62", COLOURS[0]
BAR = 0.38


@dataclass(frozen=True)
class Beside:
    """What was published of one setting (per cent, mean seconds), and what became of it here."""

    setting: str
    rate: float
    seconds: float
    cell: Cell


def draw_headline(
    networks: Mapping[str, Sequence[Beside]], *, along: str, published: str
) -> Figure:
    """Draw certified shares above mean seconds; what is undecided is drawn upon what is certified.

    Settings without a correct image are left out; ``published`` says whose the other numbers are.
    """
    if not networks:
        raise ValueError("there is no network to draw: give at least one")
    with house_style():
        size = (WIDE * len(networks) + 0.5, RATES + SECONDS + 0.3)
        figure = Figure(size, DPI, layout="constrained")
        panels = figure.subplots(
            2, len(networks), squeeze=False, sharex="col", sharey="row",
            height_ratios=(RATES, SECONDS),
        )  # fmt: skip
        for (name, settings), rates, seconds in zip(networks.items(), *panels, strict=True):
            some = [each for each in settings if each.cell.correct]
            _draw_rates(rates, some, published)
            _draw_seconds(seconds, some, published)
            n = write_n(each.cell.correct for each in some)
            rates.set_title(fill(f"{name} ({n})", LETTERS), size=8, loc="left")
            seconds.set_xticks(range(len(some)), [each.setting for each in some], size=7)
            seconds.set_xlabel(along, size=7.5)
        panels[0, 0].set_ylabel("certified", size=8)
        panels[1, 0].set_ylabel("seconds an image", size=8)
        signs, words = panels[0, 0].get_legend_handles_labels()
        figure.legend(signs, words, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def _draw_rates(axes: Axes, settings: Sequence[Beside], published: str) -> None:
    share_axis(axes)
    axes.grid(visible=False, axis="x")
    axes.tick_params(axis="x", length=0)
    left, right = ([k + side * BAR / 2 for k in range(len(settings))] for side in (-1, 1))
    theirs = [each.rate / 100 for each in settings]
    ours = [each.cell.certified / each.cell.correct for each in settings]
    open_ = [each.cell.undecided / each.cell.correct for each in settings]
    axes.bar(left, theirs, 0.9 * BAR, color=PUBLISHED, label=published)
    axes.bar(right, ours, 0.9 * BAR, color=OURS, label="ours")
    axes.bar(
        right, open_, 0.9 * BAR, bottom=ours, facecolor="white", edgecolor=OURS, linewidth=0.6,
        hatch="/////", label="ours, undecided",
    )  # fmt: skip


def _draw_seconds(axes: Axes, settings: Sequence[Beside], published: str) -> None:
    axes.set_yscale("log")
    axes.tick_params(labelsize=7)
    axes.grid(color="0.88", linewidth=0.6, axis="y")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    at = range(len(settings))
    axes.plot(at, [x.seconds for x in settings], "s-", color=PUBLISHED, ms=4, lw=1, label=published)
    known = [(k, each.cell.seconds) for k, each in enumerate(settings) if each.cell.seconds]
    places, values = [k for k, _ in known], [seconds for _, seconds in known]
    axes.plot(places, values, "o-", color=OURS, ms=4, lw=1, label="ours")
    axes.set_xlim(-0.6, len(settings) - 0.4)
