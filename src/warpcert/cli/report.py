"""`BoundsReport`: what `warpcert bounds` answers, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpcert.cli.names import ImageName
from warpcert.cli.picture import MOST_ROWS
from warpcert.cli.screen import Side, print_line, print_table
from warpcert.cli.summary import Summary, summarise
from warpcert.cli.threat import threat_json, write_threat

if TYPE_CHECKING:
    from warpcert.core import Interval
    from warpcert.flow import Threat

MOST_LINES = 20
"""The most images that are listed one by one as text."""

WIDTHS: dict[str, Side] = {"mean width": "right", "max width": "right", "fixed": "right"}
"""The headings of `Summary.cells`."""


@dataclass(frozen=True, eq=False)
class BoundsReport:
    """The bounds (B, C, H, W) of the images that `spec` names, and where they were drawn."""

    spec: str
    names: Sequence[ImageName]
    threat: Threat
    box: Interval
    seconds: float
    picture: Path | None

    @property
    def json(self) -> dict[str, Any]:
        """The report as JSON."""
        each = [
            {"image": name.image, "label": name.label} | summary.json
            for name, summary in zip(self.names, self._summaries(len(self.names)), strict=True)
        ]
        return {
            "images": self.spec,
            "shape": list(self.box.lower.shape[1:]),
            "threat": threat_json(self.threat),
            "seconds": self.seconds,
            **summarise(self.box).json,
            "each": each,
            "picture": None if self.picture is None else str(self.picture),
        }

    def print(self) -> None:
        """Print the report: what was asked, one line for each image, where the picture is."""
        count = len(self.names)
        shape = " x ".join(map(str, self.box.lower.shape[1:]))
        images = "1 image" if count == 1 else f"{count} images"
        print_line(
            f"{self.spec}: {images} of {shape}, {write_threat(self.threat)}, {self.seconds:.3f} s"
        )
        listed = self.names[:MOST_LINES]
        rows = [
            (name.image, name.meaning or "-", *summary.cells)
            for name, summary in zip(listed, self._summaries(len(listed)), strict=True)
        ]
        if count > len(rows):
            rows.append((f"... and {count - len(rows)} more", "", "", "", ""))
        if count > 1:
            rows.append(("all", "", *summarise(self.box).cells))
        print_table({"image": "left", "class": "left", **WIDTHS}, rows)
        if self.picture is not None:
            cut = f" (the first {MOST_ROWS} of {count} images)" if count > MOST_ROWS else ""
            print_line(f"picture: {self.picture}{cut}")

    def _summaries(self, count: int) -> list[Summary]:
        """Those of the first images, one by one."""
        return [summarise(self.box, i) for i in range(count)]
