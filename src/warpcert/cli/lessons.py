"""Pictures of training: loss and accuracies, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from warpcert.run.report.style import house_style

if TYPE_CHECKING:
    from warpcert.train import Entry

SIZE = (7.0, 4.6)


def draw_lessons(entries: Sequence[Entry]) -> Figure:
    """Loss above; below the shares of validation images that are right and certified."""
    epochs = [entry.epoch + 1 for entry in entries]
    with house_style():
        figure = Figure(figsize=SIZE, layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        above.plot(epochs, [entry.loss for entry in entries], color="black")
        above.set_yscale("log")
        above.set_ylabel("loss")
        share = [100 * entry.strength for entry in entries]
        below.plot(epochs, share, color="0.7", linestyle=":", label="strength of the threat")
        for name, colour in (("correct", "tab:blue"), ("certified", "tab:orange")):
            values = [100 * getattr(entry, name) / entry.all for entry in entries]
            below.plot(epochs, values, color=colour, label=name)
        below.set_ylabel("% of validation images")
        below.set_xlabel("epoch")
        below.set_ylim(0, 101)
        below.legend(loc="lower right")
    return figure
