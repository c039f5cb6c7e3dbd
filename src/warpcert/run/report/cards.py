"""`Cards`: what the page's script needs to draw one card for each verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpcert.run.report.arrows import thin_out
from warpcert.run.report.bending import read_bending
from warpcert.run.report.finding import Finding
from warpcert.run.report.originals import Originals
from warpcert.run.report.png import picture_uri
from warpcert.run.report.table import DIGITS, overlap
from warpcert.run.report.words import write_plainly, write_seconds


class Cards:
    """The cards of rows whose fields lie below `folder`, and their pictures, each kept once."""

    def __init__(self, rows: Sequence[Finding], folder: Path, originals: Originals) -> None:
        self.folder, self.originals = folder, originals
        self._places: dict[str, int] = {}
        self._named: dict[str, int | ValueError] = {}
        apart = overlap(rows)
        self.cards = [self._card(row) | {"task": _task(row, apart)} for row in rows]

    @property
    def json(self) -> dict[str, Any]:
        """Cards, and the pictures that they name by number."""
        return {"cards": self.cards, "pictures": list(self._places)}

    @property
    def notes(self) -> list[str]:
        """How many cards lack a picture, and why."""
        lacking = Counter(card["note"] for card in self.cards if card["note"])
        if len(lacking) > 3:
            return [f"Cards without some of their pictures: {lacking.total()}; each says why."]
        return [f"{why} ({count} of {len(self.cards)} cards)" for why, count in lacking.items()]

    def _card(self, row: Finding) -> dict[str, Any]:
        notes: list[str] = []
        card = _words(row)
        if row.field is not None:
            try:
                bending = read_bending(self.folder, row.field)
            except ValueError as error:
                notes.append(f"No field to show: {error}.")
            else:
                card["original"] = self._keep(bending.image)
                card["warped"] = self._keep(bending.warped)
                card["arrows"] = thin_out(bending.field)
        if card["original"] is None:
            try:
                card["original"] = self._find(row.image)
            except ValueError as error:
                notes.append(f"No picture of the image: {error}.")
        card["note"] = " ".join(notes)
        return card

    def _find(self, name: str) -> int:
        """The place of the picture of a named image, looked for once."""
        if name not in self._named:
            try:
                self._named[name] = self._keep(self.originals.find(name))
            except ValueError as error:
                self._named[name] = error
        found = self._named[name]
        if isinstance(found, ValueError):
            raise found
        return found

    def _keep(self, image: NDArray[np.generic]) -> int:
        return self._places.setdefault(picture_uri(image), len(self._places))


def _task(row: Finding, apart: bool) -> str:
    """A task's name, where tasks are to be told apart."""
    return row.task[:DIGITS] if apart else ""


def _words(row: Finding) -> dict[str, Any]:
    """A card without pictures."""
    return {
        "image": row.image,
        "class": row.meaning,
        "status": row.status.value,
        "norm": write_plainly(row.norm),
        "delta": write_plainly(row.delta),
        "gamma": write_plainly(row.gamma),
        "border": row.border,
        "margin": row.margin,
        "rival": row.against,
        "method": row.method,
        "seconds": row.seconds,
        "steps": [f"{name} {write_seconds(taken)}" for name, taken in row.steps.items()],
        "reason": row.reason,
        "original": None,
        "warped": None,
        "arrows": None,
    }
