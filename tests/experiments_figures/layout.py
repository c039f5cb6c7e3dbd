"""What a reader would complain about: text upon text, and text beyond the edge."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from warpcert.run.report.style import house_style


def texts(figure: Figure) -> list[str]:
    """All that is written in a figure."""
    return [t.get_text() for t in figure.findobj(Text) if isinstance(t, Text) and t.get_text()]


def undrawn(axes: Axes) -> Iterator[Text]:
    """Labels of ticks that lie beyond an axis, of which only the text exists."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        labels = axis.get_ticklabels()  # an axis that shares another one's has none
        for place, label in zip(axis.get_ticklocs(), labels, strict=bool(labels)):
            if not low <= place <= high:
                yield label


def assert_readable(figure: Figure) -> None:
    """Draw a figure; no text may lie on another one or leave the paper."""
    figure.set_dpi(100)  # as on a screen: quicker, and nothing moves
    with house_style():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        renderer = canvas.get_renderer()
        every = [
            (t, t.get_window_extent(renderer))
            for t in figure.findobj(Text)
            if isinstance(t, Text) and t.get_visible() and t.get_text().strip()
        ]
    beyond = {id(label) for axes in figure.axes for label in undrawn(axes)}
    found = [(t.get_text(), box) for t, box in every if id(t) not in beyond]
    paper = figure.bbox.expanded(1.001, 1.001)
    for text, box in found:
        assert paper.x0 <= box.x0 and box.x1 <= paper.x1, f"{text!r} leaves the paper"
        assert paper.y0 <= box.y0 and box.y1 <= paper.y1, f"{text!r} leaves the paper"
    for (one, a), (other, b) in itertools.combinations(found, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        down = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across <= 1 or down <= 1, f"{one!r} lies on {other!r}"
