"""`warpcert bounds`: how far bending can change every pixel of an image."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from warpcert.cli.names import name_images
from warpcert.cli.refusal import refusing
from warpcert.cli.report import BoundsReport
from warpcert.cli.save import check_target, save_figure
from warpcert.cli.screen import Format, FormatOption, print_json
from warpcert.cli.threat import (
    Border,
    BorderOption,
    DeltaOption,
    GammaOption,
    Norm,
    NormOption,
    make_threat,
)

BOUNDS_EXAMPLES = """\b
Examples:
  warpcert bounds mnist:0-3 --norm 2 --delta 0.5 --out bounds.png
  warpcert bounds photo.jpg --delta 1.5 --format json
"""

ImageArgument = Annotated[
    str, typer.Argument(metavar="IMAGE", help="A .png, .jpg or .npz file, or such as mnist:0-3.")
]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Draw a .png, .pdf or .svg.")
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Folder with whole data sets.")
]


def bounds(
    image: ImageArgument,
    norm: NormOption = Norm.INF,
    delta: DeltaOption = "0.5",
    gamma: GammaOption = "inf",
    border: BorderOption = Border.CLAMP,
    out: OutOption = None,
    form: FormatOption = Format.TEXT,
    data: DataOption = None,
) -> None:
    """Bound every pixel of an image, however it is bent.

    Every pixel moves by at most DELTA, and neighbours differ by at most GAMMA. A pixel is fixed
    if none of its channels can change.
    """
    if out is not None:
        check_target(out, image)
    threat = make_threat(norm, delta, gamma, border)
    from warpcert.data import load_images
    from warpcert.flow import pixel_bounds

    with refusing():
        images, labels = load_images(image, root=data)
    start = time.perf_counter()
    box = pixel_bounds(images, threat)
    seconds = time.perf_counter() - start
    names = name_images(image, labels)
    if out is not None:
        from warpcert.cli.picture import draw_bounds

        save_figure(draw_bounds(images, box, names, threat), out)
    report = BoundsReport(image, names, threat, box, seconds, out)
    if form is Format.JSON:
        print_json(report.json)
    else:
        report.print()
