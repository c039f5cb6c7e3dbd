"""`draw_comparison`: one image for each delta, bent with more and more smoothness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from torch import Tensor

from warpcert.core import Status, Unsound
from warpcert.experiments.figures.bent import Bent
from warpcert.experiments.figures.panels import DPI, place, show_field, show_image
from warpcert.flow import warp
from warpcert.run.report.style import house_style
from warpcert.run.report.words import DASH, write_number

# Inches: a panel's side, the room between panels, between cells and below them, and the headings.
SIDE, GAP, APART, BELOW, LEFT, TOP, EDGE = 0.7, 0.03, 0.12, 0.25, 0.3, 0.26, 0.06

WORDS = {
    Status.CERTIFIED: "certified",
    Status.FALSIFIED: "adversarial",
    Status.UNKNOWN: "undecided",
    Status.MISCLASSIFIED: "misclassified",
}


@dataclass(frozen=True, eq=False)
class Pane:
    """What is known of an image under one threat, and a field of it to be shown, if there is one.

    A falsified image shows the field that changes its label, the others the worst that was found.
    """

    status: Status
    bent: Bent | None

    def __post_init__(self) -> None:
        """Refuse what cannot be shown."""
        if self.status is Status.FALSIFIED and self.bent is None:
            raise ValueError("an adversarial image is shown by the field that makes it one")


@dataclass(frozen=True, eq=False)
class Strip:
    """An image (C, H, W) of a label, bent by at most delta; one pane for each gamma."""

    delta: float
    image: Tensor
    label: int
    panes: Mapping[float, Pane]

    def __post_init__(self) -> None:
        """Refuse a certificate that its own picture refutes."""
        for gamma, pane in self.panes.items():
            changed = pane.bent is not None and pane.bent.seen != self.label
            if changed and pane.status is Status.CERTIFIED:
                raise Unsound(
                    f"an image of label {self.label} is certified at delta {self.delta:g}, gamma "
                    f"{gamma:g}, and a field changes its label"
                )


def draw_comparison(rows: Sequence[Strip], gammas: Sequence[float]) -> Figure:
    """Draw a row for each image: as it is, and for each gamma the bent image and its field.

    Below each pane stand the label that the network sees and what is known of the image under all
    fields of that threat. A pane that is missing stays empty.
    """
    wide, high = 2 * SIDE + GAP + APART, SIDE + BELOW
    width = LEFT + SIDE + APART + len(gammas) * wide - APART + EDGE
    height = TOP + len(rows) * high
    with house_style():
        figure = Figure((width, height), DPI)
        _write(figure, LEFT + SIDE / 2, TOP - 0.2, "original", weight="bold")
        for j, gamma in enumerate(gammas):
            centre = LEFT + SIDE + APART + j * wide + SIDE + GAP / 2
            _write(figure, centre, TOP - 0.2, f"γ = {write_number(gamma)}", weight="bold")
        for i, strip in enumerate(rows):
            y = TOP + i * high
            first = place(figure, LEFT, y, SIDE, SIDE)
            first.set_ylabel(f"δ = {write_number(strip.delta)}", size=9, weight="bold", labelpad=4)
            show_image(first, strip.image)
            _write(figure, LEFT + SIDE / 2, y + SIDE + 0.04, f"label {strip.label}")
            for j, gamma in enumerate(gammas):
                _draw_pane(figure, strip, gamma, LEFT + SIDE + APART + j * wide, y)
    return figure


def _draw_pane(figure: Figure, strip: Strip, gamma: float, x: float, y: float) -> None:
    """The bent image, its field, and what is known."""
    left, right = (place(figure, at, y, SIDE, SIDE) for at in (x, x + SIDE + GAP))
    pane = strip.panes.get(gamma)
    below = (x + SIDE + GAP / 2, y + SIDE + 0.04)
    if pane is None:
        _write(figure, *below, DASH)
        return
    if pane.bent is None:
        show_image(left, strip.image)
        seen = strip.label
    else:
        show_image(left, warp(strip.image[None].double(), pane.bent.field[None].double())[0])
        show_field(right, pane.bent.field, strip.delta)
        seen = pane.bent.seen
    weight = "bold" if pane.status is Status.FALSIFIED else "normal"
    _write(figure, *below, f"label {seen} ({WORDS[pane.status]})", weight=weight)


def _write(figure: Figure, x: float, y: float, text: str, weight: str = "normal") -> None:
    """A line centred at x whose top is y inches below the figure's."""
    width, height = figure.get_size_inches()
    figure.text(x / width, 1 - y / height, text, size=7.5, ha="center", va="top", weight=weight)
