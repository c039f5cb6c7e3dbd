"""Pictures of pixel bounds: columns of what bending can do, one row for each image or threat.

Panels are placed by hand, in inches, so that a small image's pixels are squares of whole dots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpcert.cli.screen import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from torch import Tensor

    from warpcert.cli.names import ImageName
    from warpcert.core import Interval
    from warpcert.flow import Threat

MOST_ROWS = 8
"""The most images in one picture."""

DPI = 200
SIDE = 400  # dots of a panel's longer side, at most
LEAST = 280  # dots of its shorter side, so that there is room for what is written beside it
LONGEST_NAME = 30  # letters that fit beside a panel
COLOURS = "inferno"  # perceptually uniform, and black where nothing can change

LEVEL = 1 / 255  # the scale of widths ends no lower, so that rounding is never magnified

# Inches around the panels and between them, and those of the colour bar.
LEFT, RIGHT, TOP, BOTTOM, GAP = 0.32, 0.68, 0.66, 0.12, 0.08
BAR_GAP, BAR = 0.1, 0.13


@dataclass(frozen=True, eq=False)
class Column:
    """Arrays (H, W) or (H, W, 3), one for each row, to be drawn as images or as widths."""

    title: str
    arrays: Sequence[Any]
    are_widths: bool = False


def draw_bounds(
    images: Tensor, box: Interval, names: Sequence[ImageName], threat: Threat
) -> Figure:
    """Draw the first images (B, C, H, W), their bounds, and the width between them."""
    rows = min(len(images), MOST_ROWS)
    columns = [
        Column("image", _pixels(images[:rows])),
        Column("lower bound", _pixels(box.lower[:rows])),
        Column("upper bound", _pixels(box.upper[:rows])),
        Column("width", _widths(box)[:rows], are_widths=True),
    ]
    cut = "" if len(images) == rows else f" (the first {rows} of {len(images)} images)"
    title = f"Pixel bounds under {write_mathematically(threat)}{cut}"
    return _draw(columns, [_quote(str(name)) for name in names[:rows]], title)


def draw_threats(
    image: Tensor, boxes: Sequence[Interval], threats: Sequence[Threat], name: ImageName
) -> Figure:
    """Draw one image (1, C, H, W) and its bounds, one row for each threat."""
    columns = [
        Column("image", _pixels(image) * len(boxes)),
        Column("lower bound", [_pixels(box.lower)[0] for box in boxes]),
        Column("upper bound", [_pixels(box.upper)[0] for box in boxes]),
        Column("width", [_widths(box)[0] for box in boxes], are_widths=True),
    ]
    labels = [write_mathematically(threat) for threat in threats]
    return _draw(columns, labels, f"Pixel bounds of {_quote(str(name))}")


def draw_widths(
    image: Tensor, boxes: Sequence[Interval], threats: Sequence[Threat], name: ImageName
) -> Figure:
    """Draw one image (1, C, H, W) and, side by side, its widths under several threats."""
    columns = [Column("image", _pixels(image))]
    columns += [
        Column(write_mathematically(threat), _widths(box), are_widths=True)
        for threat, box in zip(threats, boxes, strict=True)
    ]
    return _draw(columns, [_quote(str(name))], "How far bending can change each pixel")


def write_mathematically(threat: Threat) -> str:
    """The threat in matplotlib's mathematical notation."""
    norm, gamma = (f"{x:g}".replace("inf", r"\infty") for x in (threat.norm, threat.gamma))
    border = "" if threat.border == "clamp" else f", border {threat.border}"
    return rf"$T_{{{norm}}}$, $\delta = {threat.delta:g}$, $\gamma = {gamma}${border}"


def _pixels(images: Tensor) -> list[Any]:
    """Images (B, C, H, W) as matplotlib takes them: (H, W) or (H, W, 3) each."""
    last = images.cpu().movedim(1, -1)
    return list((last[..., 0] if last.shape[-1] == 1 else last).numpy())


def _widths(box: Interval) -> list[Any]:
    """The width (H, W) of the pixels of each image, the largest one of their channels."""
    return list(box.width.amax(1).cpu().numpy())


def _draw(columns: Sequence[Column], labels: Sequence[str], title: str) -> Figure:
    """Draw columns side by side, with one scale for all widths and a colour bar beside them."""
    from matplotlib.figure import Figure

    from warpcert.run.report.style import house_style

    across, down = _panel(*columns[0].arrays[0].shape[:2])
    right = LEFT + len(columns) * (across + GAP) - GAP
    height = TOP + len(labels) * (down + GAP) - GAP + BOTTOM
    width = right + BAR_GAP + BAR + RIGHT
    highest = max(LEVEL, *(float(a.max()) for c in columns if c.are_widths for a in c.arrays))
    with house_style():
        figure = Figure((width, height), DPI)
        for j, column in enumerate(columns):
            for i, label in enumerate(labels):
                x, y = LEFT + j * (across + GAP), height - TOP - down - i * (down + GAP)
                axes = _place(figure, x, y, across, down)
                shown = _show(axes, column, i, highest)
                if i == 0:
                    axes.set_title(column.title, size=10, pad=5)
                if j == 0:
                    axes.set_ylabel(label, size=9, labelpad=5)
        bar = _place(figure, right + BAR_GAP, BOTTOM, BAR, height - TOP - BOTTOM)
        figure.colorbar(shown, cax=bar)
        bar.set_ylabel("width of the interval", size=9)
        bar.tick_params(labelsize=8)
        figure.text(LEFT / width, 1 - 0.12 / height, title, size=11, va="top")
    return figure


def _place(figure: Figure, x: float, y: float, across: float, down: float) -> Axes:
    """Add axes whose lower left corner and size are given in inches."""
    width, height = figure.get_size_inches()
    return figure.add_axes((x / width, y / height, across / width, down / height))


def _show(axes: Axes, column: Column, row: int, highest: float) -> AxesImage:
    """Draw one panel: its pixels, without ticks."""
    array = column.arrays[row]
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_linewidth(0.5)
    return axes.imshow(
        array,
        cmap=COLOURS if column.are_widths else "gray",
        vmin=0.0,
        vmax=highest if column.are_widths else 1.0,
        interpolation="nearest" if _is_small(*array.shape[:2]) else "auto",
    )


def _panel(height: int, width: int) -> tuple[float, float]:
    """Width and height of a panel in inches."""
    longer = max(height, width)
    scale = SIDE // longer if _is_small(height, width) else SIDE / longer
    return max(LEAST, width * scale) / DPI, max(LEAST, height * scale) / DPI


def _is_small(height: int, width: int) -> bool:
    """Whether the pixels of an image are to be seen one by one."""
    return max(height, width) <= SIDE // 2


def _quote(name: str) -> str:
    """The name as it is, not as mathematics, with its middle left out when it is long."""
    name, half = printable(name), (LONGEST_NAME - 3) // 2
    short = name if len(name) <= LONGEST_NAME else f"{name[:half]}...{name[-half:]}"
    return short.replace("$", r"\$")
