"""`warpcert demo`: what the package does, on images that come with it."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpcert.cli.certify import certify
from warpcert.cli.names import name_images
from warpcert.cli.refusal import Refusal
from warpcert.cli.report import WIDTHS
from warpcert.cli.results import report
from warpcert.cli.save import save_figure
from warpcert.cli.screen import Side, print_line, print_table
from warpcert.cli.summary import summarise
from warpcert.cli.threat import write_threat

if TYPE_CHECKING:
    from warpcert.core import Interval

SPECS = ("mnist:0-99", "cifar10:0-99", "fashion:0-99")
NORMS = (1.0, 2.0, math.inf)
DELTA = 0.5
COMPARISON = "norms.png"
NETWORK, IMAGES = "mnist-convsmall-ibp", "mnist:0-19"
DELTAS, GAMMAS, SECONDS = ["0.3", "0.5", "0.8"], ["inf", "0.1"], "2"

OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder for the pictures, made if need be.")
]
Row = tuple[str, ...]


def demo(out: OutOption = Path("warpcert-demo")) -> None:
    """Certify bundled images with a bundled network.

    Leaves a page with every verdict, and pictures of what bending can do. Takes a minute or two.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"cannot make the folder {out} ({error.strerror}): name another") from None
    rows = [row for spec in SPECS for row in _bound(spec, out)]
    columns: dict[str, Side] = {"images": "left", "threat": "left", **WIDTHS}
    print_table({**columns, "seconds": "right", "picture": "left"}, rows)
    print_line(f"The norms side by side: {out / COMPARISON}")
    print_line("")
    print_line(f"Can bending change what {NETWORK} says of {IMAGES}?")
    results = out / "results.jsonl"
    certify(NETWORK, IMAGES, delta=DELTAS, gamma=GAMMAS, timeout=SECONDS, out=results)
    report(results, out / "report.html")


def _bound(spec: str, out: Path) -> list[Row]:
    """Bound images under each norm and draw the first of them; the rows of the table."""
    from warpcert.cli.picture import draw_threats, draw_widths
    from warpcert.data import load_images
    from warpcert.flow import Threat, pixel_bounds

    images, labels = load_images(spec)
    threats = [Threat(norm, DELTA) for norm in NORMS]
    picture = out / f"{spec.partition(':')[0]}.png"
    boxes: list[Interval] = []
    rows: list[Row] = []
    for threat in threats:
        start = time.perf_counter()
        box = pixel_bounds(images, threat)
        seconds = f"{time.perf_counter() - start:.3f}"
        boxes.append(box)
        rows.append((spec, write_threat(threat), *summarise(box).cells, seconds, str(picture)))
    drawn = images[:1], boxes, threats, name_images(spec, labels)[0]
    save_figure(draw_threats(*drawn), picture)
    if spec is SPECS[0]:
        save_figure(draw_widths(*drawn), out / COMPARISON)
    return rows
