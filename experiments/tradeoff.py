"""`python -m experiments.tradeoff ROWS.jsonl PICTURE.png`: natural against certified accuracy.

Rows come from `python -m warpcert.train.zoo rows PLAN.toml --out FOLDER`. Every finished setting is
a point in the panel of each delta, on test images; one that lost its images (natural accuracy of a
guess, or no network at all) is a cross. Settings are chosen on validation images, which the rows
also have; the picture shows what that gives on the test images.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from warpcert.cli.refusal import Refusal
from warpcert.cli.save import check_target, save_figure
from warpcert.run.report.style import house_style

MARKS = {"ConvSmall": "o", "ConvMed": "D", "ConvBig": "s", "ResNet": "P", "Cnn7": "^"}
COLOURS = {
    "plain": "0.5",
    "pgd": "tab:red",
    "ibp": "tab:blue",
    "crown-ibp": "tab:green",
    "mtl-ibp": "tab:orange",
    "sabr": "tab:purple",
}
GUESS = 20.0  # percent: below, a network has learned next to nothing
DELTAS = ("0.3", "0.5", "0.7", "0.9")


def draw(rows: Sequence[dict[str, Any]]) -> Figure:
    """A panel for each data set and delta."""
    names = list(dict.fromkeys(row["dataset"] for row in rows if "test" in row))
    with house_style():
        figure = Figure(figsize=(2.7 * len(DELTAS), 2.7 * len(names) + 0.7), layout="constrained")
        panels = figure.subplots(len(names), len(DELTAS), squeeze=False)
        for line, name in zip(panels, names, strict=True):
            for axes, delta in zip(line, DELTAS, strict=True):
                _panel(axes, [row for row in rows if row.get("dataset") == name], delta)
                axes.set_title(f"{name}, delta {delta}", fontsize=9)
            line[0].set_ylabel("% certified", fontsize=8)
        for axes in panels[-1]:
            axes.set_xlabel("% correct", fontsize=8)
        figure.legend(handles=_legend(rows), loc="outside lower center", ncols=6, fontsize=8)
        return figure


def _panel(axes: Any, rows: Sequence[dict[str, Any]], delta: str) -> None:
    axes.tick_params(labelsize=7)
    axes.grid(color="0.9")
    for row in rows:
        if "test" not in row:
            continue
        counts = row["test_by_delta"][delta]
        x, y = (100 * counts[key] / counts["all"] for key in ("correct", "certified"))
        lost = x < GUESS
        mark = "x" if lost else MARKS[row["architecture"]]
        axes.plot(x, y, mark, color=COLOURS[row["training"]], markersize=4.5, alpha=0.85)


def _legend(rows: Sequence[dict[str, Any]]) -> list[Any]:
    from matplotlib.lines import Line2D

    found = [row for row in rows if "test" in row]
    losses = [name for name in COLOURS if any(row["training"] == name for row in found)]
    shapes = [name for name in MARKS if any(row["architecture"] == name for row in found)]
    plain: dict[str, Any] = {"linestyle": "none", "markersize": 5}
    return [
        *(Line2D([], [], marker="o", color=COLOURS[name], label=name, **plain) for name in losses),
        *(Line2D([], [], marker=MARKS[name], color="0.3", label=name, **plain) for name in shapes),
        Line2D([], [], marker="x", color="0.3", label="learned nothing", **plain),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, and list what has no point; 0, or 2 and one line after wrong use."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if len(words) != 2:
            raise ValueError("usage: python -m experiments.tradeoff ROWS.jsonl PICTURE.png")
        path, picture = map(Path, words)
        check_target(picture)
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if not any("test" in row for row in rows):
            raise ValueError(f"{path} has no finished setting")
        save_figure(draw(rows), picture)
    except (OSError, ValueError, Refusal) as error:
        sys.stderr.write(f"{' '.join(str(error).split())}\n")
        return 2
    for row in rows:
        if "test" not in row:
            sys.stdout.write(f"{row['name']}: {row['state']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
