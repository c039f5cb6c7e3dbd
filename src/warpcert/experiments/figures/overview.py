"""`draw_overview`: the paper's example, its candidates and its planes, in three dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray
from torch import Tensor

from warpcert.experiments.figures.panels import DPI
from warpcert.flow import Threat, pixel_planes, warp
from warpcert.flow.points import Points
from warpcert.run.report.style import house_style

SAMPLE = torch.tensor([[0.0, 0.0, 0.5, 1.0]] * 3, dtype=torch.float64)[None]
"""An image (1, 3, 4) with all the values that the paper's example names: x0 = 0, x1 = 0.5."""

FIRST, SECOND = (1, 1), (1, 2)
"""Row and column of x0 and x1 in the sample."""

BLUE, GREEN, GREY = "#0072b2", "#009e73", "0.35"
FINE = 33  # points along a side of a surface
SIZE = (7.2, 2.75)  # inches


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A pixel's candidates, its planes, and its values over the square of its displacements.

    ``candidates`` (K, 3) are dx, dy and the value there; ``below`` and ``above`` are constant,
    slope dx and slope dy. ``values`` (n, n) are taken at the displacements ``along`` (n,): down
    the rows dy, across the columns dx.
    """

    candidates: NDArray[np.float64]
    below: NDArray[np.float64]
    above: NDArray[np.float64]
    along: NDArray[np.float64]
    values: NDArray[np.float64]


def relax_pixel(image: Tensor, pixel: tuple[int, int], delta: float) -> Relaxed:
    """What is known of a pixel (row, column) of an image (1, H, W) under norm inf."""
    images, threat = image[None].to(torch.float64), Threat("inf", delta)
    height, width = image.shape[-2:]
    points = Points.of(images, threat.region((height, width)), rim=0)
    values = points.values[:, 0, 0, 0, pixel[0], pixel[1]].double()
    candidates = torch.cat([points.at.T.double(), values[:, None]], dim=1)
    below, above = (plane[0, 0, pixel[0], pixel[1]] for plane in pixel_planes(images, threat))
    along = torch.linspace(-delta, delta, FINE, dtype=torch.float64)
    shifts = torch.stack(torch.meshgrid(along, along, indexing="xy"), dim=-1).view(-1, 1, 1, 2)
    bent = warp(images, shifts.expand(-1, height, width, -1))[:, 0, pixel[0], pixel[1]]
    return Relaxed(
        candidates.numpy(), below.numpy(), above.numpy(), along.numpy(),
        bent.view(FINE, FINE).numpy(),
    )  # fmt: skip


def draw_overview(
    image: Tensor = SAMPLE,
    first: tuple[int, int] = FIRST,
    second: tuple[int, int] = SECOND,
    delta: float = 0.5,
) -> Figure:
    """Draw an image (1, H, W), the plane above its first pixel, and that below its second."""
    with house_style():
        figure = Figure(SIZE, DPI)
        _draw_image(figure.add_axes((0.055, 0.14, 0.24, 0.8)), image, (first, second), delta)
        captions = ("(b) plane above $x_0$", "(c) plane below $x_1$")
        names, colours = (("x_0", "v"), ("x_1", "w")), (BLUE, GREEN)
        for k, pixel in enumerate((first, second)):
            axes = figure.add_axes((0.33 + 0.33 * k, 0.15, 0.31, 0.83), projection="3d")
            relaxed = relax_pixel(image, pixel, delta)
            plane = relaxed.below if k else relaxed.above
            _draw_space(axes, relaxed, plane, names[k], colours[k])
            figure.text(0.485 + 0.33 * k, 0.1, captions[k], size=9, ha="center")
        figure.text(0.175, 0.1, "(a) sample image", size=9, ha="center")
        figure.legend(
            handles=_signs(), loc="lower center", bbox_to_anchor=(0.5, -0.02), ncols=4,
            fontsize=7, frameon=False, handlelength=1.6, columnspacing=1.8,
        )  # fmt: skip
    return figure


def _draw_image(
    axes: Axes, image: Tensor, pixels: tuple[tuple[int, int], ...], delta: float
) -> None:
    """Bilinear interpolation in grey, pixels as dots, and the squares that two of them reach."""
    height, width = image.shape[-2:]
    exact = image[None].to(torch.float64)
    xs, ys = (torch.linspace(0, n - 1, FINE * n, dtype=torch.float64) for n in (width, height))
    shifts = torch.stack(torch.meshgrid(xs, ys, indexing="xy"), dim=-1).view(-1, 1, 1, 2)
    shade = warp(exact, shifts.expand(-1, height, width, -1))[:, 0, 0, 0].view(len(ys), len(xs))
    axes.imshow(
        shade.numpy(), cmap="gray", vmin=0, vmax=1, extent=(0, width - 1, height - 1, 0),
        interpolation="bilinear",
    )  # fmt: skip
    rows, columns = np.mgrid[:height, :width]
    axes.scatter(columns, rows, s=22, color="white", edgecolors="black", linewidths=0.8, zorder=3)
    for (row, column), colour, name in zip(pixels, (BLUE, GREEN), ("$x_0$", "$x_1$"), strict=True):
        corner = (column - delta, row - delta)
        frame = Rectangle(corner, 2 * delta, 2 * delta, fill=False, ec="white", lw=3.2, zorder=2)
        axes.add_patch(frame)
        square = Rectangle(corner, 2 * delta, 2 * delta, fill=False, ec=colour, lw=1.8, zorder=2)
        axes.add_patch(square)
        axes.scatter([column], [row], s=34, color=colour, edgecolors="white", zorder=4)
        box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": colour, "lw": 0.8}
        place = (column, row - delta - 0.12)
        axes.text(*place, name, size=9, ha="center", va="bottom", color=colour, bbox=box)
    axes.set_xlim(-0.15, width - 0.85)
    axes.set_ylim(height - 0.85, -0.15)
    axes.set_xticks(range(width))
    axes.set_yticks(range(height))
    axes.tick_params(labelsize=7, length=2)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_space(
    axes: Any, relaxed: Relaxed, plane: NDArray[np.float64], names: tuple[str, str], colour: str
) -> None:
    """The pixel's values as a net, the candidates as dots, the plane as a sheet."""
    across, down = np.meshgrid(relaxed.along, relaxed.along)
    ends = relaxed.along[[0, -1]]
    corners = np.meshgrid(ends, ends)
    sheet = plane[0] + plane[1] * corners[0] + plane[2] * corners[1]
    axes.plot_surface(*corners, sheet, color=colour, alpha=0.3, edgecolor=colour, shade=False)
    axes.plot_wireframe(across, down, relaxed.values, color=GREY, linewidth=0.5, rcount=9, ccount=9)
    x, y, z = relaxed.candidates.T
    axes.scatter(x, y, z, s=16, color="black", depthshade=False)
    value, shift = names
    axes.zaxis.set_rotate_label(False)
    axes.set_xlabel(f"${shift}_x$", size=9, labelpad=-6)
    axes.set_ylabel(f"${shift}_y$", size=9, labelpad=-6)
    axes.set_zlabel(f"${value}$", size=9, labelpad=-3, rotation=0)
    ticks = [float(ends[0]), 0.0, float(ends[1])]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    heights = sorted({float(z.min()), float(z.max()), float(z.min() + z.max()) / 2})
    axes.set_zticks(heights, [f"{height:.3g}" for height in heights])
    axes.tick_params(labelsize=7, pad=-2)
    axes.tick_params(axis="z", pad=0)
    axes.set_box_aspect((1, 1, 0.85), zoom=1.0)
    axes.view_init(elev=22, azim=-118)


def _signs() -> list[Line2D | Patch]:
    """What the dots, nets and sheets are."""
    return [
        Patch(fc="none", ec=GREY, lw=1.4, label="reachable coordinates"),
        Line2D([], [], color=GREY, lw=0.8, label="interpolated value"),
        Line2D([], [], color="black", marker="o", ms=4, ls="none", label="candidates"),
        Patch(fc=BLUE, alpha=0.35, label="bounding plane"),
    ]
