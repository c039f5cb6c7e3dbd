"""Images and fields as panels of a figure for print."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from warpcert.run.report.arrows import HUNDREDTHS, thin_out

DPI = 300
"""Dots per inch of the figures, as printers want them."""

# The colours of Okabe and Ito, which every eye tells apart, from dark to light.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
MARKS = ("o", "s", "^", "D", "v")
FALSIFIED = "#f3b98c"  # light, beside the dark blue of what is certified

FRAME = "0.45"  # grey, around a panel
SHAFT, LONGEST = 0.06, 0.82  # an arrow's width, and a component of delta, in arrow distances


def place(figure: Figure, x: float, y: float, across: float, down: float) -> Axes:
    """Add axes whose upper left corner and size are given in inches, from the figure's own."""
    width, height = figure.get_size_inches()
    where = (x / width, 1 - (y + down) / height, across / width, down / height)
    axes = figure.add_axes(where)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(linewidth=0.5, color=FRAME)
    return axes


def show_image(axes: Axes, image: Tensor) -> None:
    """Draw an image (C, H, W) in [0, 1], of one channel or three."""
    last = image.detach().cpu().movedim(0, -1).numpy()
    pixels = last[..., 0] if last.shape[-1] == 1 else last
    axes.imshow(pixels, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")


def show_field(axes: Axes, field: Tensor, delta: float) -> None:
    """Draw a field (H, W, 2) as arrows from each pixel to where its value comes from.

    Where there are many pixels, only some of them have an arrow. Lengths are relative to delta:
    a component of delta is most of the way to the next arrow, so that none cross but those of
    neighbours that point at each other.
    """
    arrows = thin_out(field.detach().cpu().numpy())
    step, across = arrows["step"], arrows["across"]
    top, left = arrows["first"]
    scale = LONGEST * step / (HUNDREDTHS * delta) if delta else 0.0
    shifts = [scale * value for value in arrows["v"]]
    count = len(shifts) // 2
    xs = [left + step * (k % across) for k in range(count)]
    ys = [top + step * (k // across) for k in range(count)]
    axes.quiver(
        xs, ys, shifts[::2], shifts[1::2],
        angles="xy", scale_units="xy", scale=1, units="xy", width=SHAFT * step,
        headwidth=5, headlength=5, headaxislength=4.5, minlength=0.4, color="black",
    )  # fmt: skip
    axes.set_xlim(-0.5, arrows["w"] - 0.5)
    axes.set_ylim(arrows["h"] - 0.5, -0.5)
    axes.set_aspect("equal")


def write_n(counts: Iterable[int]) -> str:
    """How many images, the least and the most where that differs, without a place to break."""
    ends = sorted(set(counts))
    if not ends:
        return "no images"
    told = "–".join(str(count) for count in dict.fromkeys([ends[0], ends[-1]]))
    return f"n = {told}".replace(" ", "\N{NO-BREAK SPACE}")


def share_axis(axes: Axes) -> None:
    """Prepare an axis of shares from 0 to 100 %."""
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.tick_params(labelsize=7)
    axes.grid(color="0.88", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
