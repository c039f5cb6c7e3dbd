"""`draw_curves`: what becomes of the images as delta grows, one panel for each gamma."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpcert.core import Status
from warpcert.run.report.scale import Scale
from warpcert.run.report.table import Line
from warpcert.run.report.tag import Markup, join, tag
from warpcert.run.report.words import write_number, write_share

DECIDED = (Status.CERTIFIED, Status.FALSIFIED, Status.UNKNOWN)
"""What a correctly classified image can become, in the order of drawing from the last on."""

WIDTH, HEIGHT = 340, 210
LEFT, RIGHT, TOP, BOTTOM = 44.0, 324.0, 10.0, 166.0


@dataclass(frozen=True)
class Panel:
    """The lines of one norm, border and gamma (and task), by growing delta."""

    title: str
    lines: tuple[Line, ...]


def split_panels(lines: Sequence[Line]) -> list[Panel]:
    """The panels of a table, in its order."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(_title(line), []).append(line)
    return [Panel(title, tuple(group)) for title, group in groups.items()]


def draw_curves(lines: Sequence[Line]) -> Markup:
    """The shares of the correct images against delta, as figures of HTML and SVG."""
    deltas = sorted({line.delta for line in lines})
    across = Scale.around(deltas, LEFT, RIGHT)
    return join(*(_figure(panel, across, deltas) for panel in split_panels(lines)))


def _title(line: Line) -> str:
    border = "" if line.border == "clamp" else f", border {line.border}"
    task = f", task {line.task}" if line.task else ""
    return f"gamma {write_number(line.gamma)}, norm {write_number(line.norm)}{border}{task}"


def _figure(panel: Panel, across: Scale, deltas: Sequence[float]) -> Markup:
    up = Scale(0, 1, BOTTOM, TOP)
    first, last = (
        f"{write_share(line.share(Status.CERTIFIED))} at delta {write_number(line.delta)}"
        for line in (panel.lines[0], panel.lines[-1])
    )
    says = f"Shares of the correct images, {panel.title}: certified {first}, {last}."
    drawing = tag(
        "svg",
        _grid(across, up, deltas),
        *(_curve(panel, status, across, up) for status in reversed(DECIDED)),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=says,
    )
    return tag("figure", tag("figcaption", panel.title), drawing)


def _grid(across: Scale, up: Scale, deltas: Sequence[float]) -> Markup:
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = up(share)
        parts.append(tag("line", x1=LEFT - 8, x2=RIGHT + 8, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", f"{share:.0%}", x=LEFT - 12, y=y + 4, class_="end"))
    for delta in across.apart(deltas, 30):
        x = across(delta)
        parts.append(tag("line", x1=x, x2=x, y1=BOTTOM, y2=BOTTOM + 4, class_="axis"))
        parts.append(tag("text", write_number(delta), x=x, y=BOTTOM + 18, class_="middle"))
    middle = (LEFT + RIGHT) / 2
    parts.append(tag("text", "delta (pixels)", x=middle, y=BOTTOM + 36, class_="middle quiet"))
    return join(*parts)


def _curve(panel: Panel, status: Status, across: Scale, up: Scale) -> Markup:
    points = [
        (across(line.delta), up(share), line)
        for line in panel.lines
        if (share := line.share(status)) is not None
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    marks = (_mark(status, x, y, line) for x, y, line in points)
    return tag("g", tag("polyline", points=path), *marks, class_=f"curve {status.value}")


def _mark(status: Status, x: float, y: float, line: Line) -> Markup:
    count = getattr(line, status.value)
    share = write_share(line.share(status))
    says = f"delta {write_number(line.delta)}: {count} of {line.correct} {status.value} ({share})"
    return tag("path", tag("title", says), d=SHAPES[status].format(x=x, y=y))


# A circle, a triangle and a square, so that no one needs to see colours.
SHAPES = {
    Status.CERTIFIED: "M{x:.1f} {y:.1f}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    Status.FALSIFIED: "M{x:.1f} {y:.1f}m0-5l5 8.5h-10z",
    Status.UNKNOWN: "M{x:.1f} {y:.1f}m-3.5-3.5h7v7h-7z",
}
