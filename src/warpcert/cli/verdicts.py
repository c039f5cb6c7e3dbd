"""`VerdictsReport`: what `warpcert certify` answers, for people and for programs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpcert.cli.names import ImageName
from warpcert.cli.screen import Side, print_line, print_table
from warpcert.cli.threat import threat_json, write_threat

if TYPE_CHECKING:
    from warpcert.core import Verdict
    from warpcert.flow import Threat

COLUMNS: dict[str, Side] = {
    "image": "left",
    "class": "left",
    "verdict": "left",
    "margin": "right",
    "against": "right",
    "method": "left",
    "seconds": "right",
}


@dataclass(frozen=True, eq=False)
class VerdictsReport:
    """Verdicts on images, one for each."""

    network: str
    names: Sequence[ImageName]
    threat: Threat
    verdicts: Sequence[Verdict]

    @property
    def json(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "network": self.network,
            "threat": threat_json(self.threat),
            **self._counts(),
            "each": [
                {
                    "image": name.image,
                    "label": verdict.label,
                    "status": verdict.status.value,
                    "margin": verdict.margin if math.isfinite(verdict.margin) else None,
                    "rival": verdict.rival,
                    "method": verdict.method,
                    "seconds": verdict.seconds,
                    "reason": verdict.reason,
                }
                for name, verdict in zip(self.names, self.verdicts, strict=True)
            ],
        }

    def print(self) -> None:
        """Print what was asked, a line for each image, and the counts."""
        print_line(f"{self.network}: {write_threat(self.threat)}")
        rows = [
            (
                name.image,
                name.meaning or f"{verdict.label}",
                verdict.status.value,
                f"{verdict.margin:.4f}",
                f"{verdict.rival}",
                verdict.method or "-",
                f"{verdict.seconds:.3f}",
            )
            for name, verdict in zip(self.names, self.verdicts, strict=True)
        ]
        print_table(COLUMNS, rows)
        counts = self._counts()
        print_line(
            f"{counts['certified']} certified / {counts['correct']} correct / "
            f"{counts['images']} images"
        )

    def _counts(self) -> dict[str, int]:
        found = Counter(verdict.status.value for verdict in self.verdicts)
        count = len(self.verdicts)
        correct = count - found["misclassified"]
        return {"images": count, "correct": correct, "certified": found["certified"]}
