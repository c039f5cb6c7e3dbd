"""`draw_introduction`: one image, and what bending it without and with smoothness looks like."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from torch import Tensor

from warpcert.experiments.figures.bent import Bent
from warpcert.experiments.figures.panels import DPI, place, show_field, show_image
from warpcert.flow import Threat, warp
from warpcert.run.report.style import house_style
from warpcert.run.report.words import write_number

# Inches: a panel's side, the room between two of one threat and between threats, what is below.
SIDE, GAP, APART, EDGE, BELOW = 1.25, 0.05, 0.22, 0.05, 0.46


def draw_introduction(image: Tensor, label: int, bent: Mapping[Threat, Bent]) -> Figure:
    """Draw an image (C, H, W), and for each threat the bent image and its field side by side."""
    width = 2 * EDGE + SIDE + len(bent) * (2 * SIDE + GAP + APART)
    with house_style():
        figure = Figure((width, EDGE + SIDE + BELOW), DPI)
        show_image(place(figure, EDGE, EDGE, SIDE, SIDE), image)
        _caption(figure, EDGE + SIDE / 2, "original", f"label {label}")
        for k, (threat, found) in enumerate(bent.items()):
            left = EDGE + SIDE + APART + k * (2 * SIDE + GAP + APART)
            warped = warp(image[None].double(), found.field[None].double())[0]
            show_image(place(figure, left, EDGE, SIDE, SIDE), warped)
            show_field(
                place(figure, left + SIDE + GAP, EDGE, SIDE, SIDE), found.field, threat.delta
            )
            first = f"δ = {write_number(threat.delta)}, γ = {write_number(threat.gamma)}"
            change = f"label {label} → {found.seen}" if found.seen != label else f"label {label}"
            _caption(figure, left + SIDE + GAP / 2, first, change)
    return figure


def _caption(figure: Figure, x: float, *lines: str) -> None:
    """Lines centred below the panels."""
    width, height = figure.get_size_inches()
    y = 1 - (EDGE + SIDE + 0.08) / height
    figure.text(x / width, y, "\n".join(lines), size=9, ha="center", va="top", linespacing=1.3)
