"""`VerdictsReport`: what `warpcert certify` answers, for people and for programs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpcert.cli.screen import Side, print_line, print_table
from warpcert.cli.threat import threat_json, write_threat

if TYPE_CHECKING:
    from warpcert.flow import Threat
    from warpcert.run import Row

COLUMNS: dict[str, Side] = {
    "image": "left",
    "class": "left",
    "verdict": "left",
    "margin": "right",
    "against": "right",
    "method": "left",
    "seconds": "right",
}

SUMMARY: dict[str, Side] = {
    "threat": "left",
    "certified / correct / all": "right",
    "falsified": "right",
    "unknown": "right",
    "misclassified": "right",
    "mean s": "right",
}

REMARKS = 3
"""So many reasons are printed, the commonest."""

EACH = ("image", "label", "status", "margin", "rival", "method", "seconds", "reason")


@dataclass(frozen=True, eq=False)
class VerdictsReport:
    """Verdicts under one threat; ``meanings`` are the names of the images' classes."""

    network: str
    threat: Threat
    rows: Sequence[Row]
    meanings: Mapping[str, str]

    @property
    def json(self) -> dict[str, Any]:
        """The report as JSON."""
        counts = self.counts
        return {
            "network": self.network,
            "threat": threat_json(self.threat),
            **{name: counts[name] for name in ("images", "correct", "certified")},
            "each": [{name: row.json[name] for name in EACH} for row in self.rows],
        }

    def print(self) -> None:
        """Print what was asked, a line for each image, and the counts."""
        print_line(f"{self.network}: {write_threat(self.threat)}")
        rows = [
            (
                row.image,
                self.meanings.get(row.image) or f"{row.label}",
                row.status.value,
                f"{row.margin:.4f}",
                "-" if row.rival is None else f"{row.rival}",
                row.method or "-",
                f"{row.seconds:.3f}",
            )
            for row in self.rows
        ]
        print_table(COLUMNS, rows)
        for remark in self.remarks[:REMARKS]:
            print_line(remark)
        counts = self.counts
        print_line(
            f"{counts['certified']} certified / {counts['correct']} correct / "
            f"{counts['images']} images"
        )

    @property
    def remarks(self) -> list[str]:
        """What certificates rest on besides proof, and then why images are unknown."""
        found = Counter((row.status.value, row.reason) for row in self.rows if row.reason)
        ordered = sorted(found.items(), key=lambda item: (item[0][0], -item[1]))
        return [f"{count} {status}: {reason}" for (status, reason), count in ordered]

    @property
    def counts(self) -> dict[str, int]:
        """How many images there are of every kind."""
        found = Counter(row.status.value for row in self.rows)
        kinds = {kind: found[kind] for kind in ("certified", "falsified", "unknown")}
        wrong = found["misclassified"]
        count = len(self.rows)
        return {"images": count, "correct": count - wrong, **kinds, "misclassified": wrong}

    @property
    def mean_seconds(self) -> float | None:
        """Seconds for an image of those that the methods were asked about."""
        spent = [row.seconds for row in self.rows if row.status.value != "misclassified"]
        return math.fsum(spent) / len(spent) if spent else None

    @property
    def summary_json(self) -> dict[str, Any]:
        """The counts as JSON."""
        return {**threat_json(self.threat), **self.counts, "mean_seconds": self.mean_seconds}

    @property
    def summary_cells(self) -> tuple[str, ...]:
        """The counts as cells under `SUMMARY`."""
        counts, mean = self.counts, self.mean_seconds
        return (
            write_threat(self.threat),
            f"{counts['certified']} / {counts['correct']} / {counts['images']}",
            *(f"{counts[name]}" for name in ("falsified", "unknown", "misclassified")),
            "-" if mean is None else f"{mean:.3f}",
        )


def report_each(
    network: str, threats: Sequence[Threat], rows: Sequence[Row], meanings: Mapping[str, str]
) -> list[VerdictsReport]:
    """A report for each threat."""
    found: defaultdict[tuple[float, float], list[Row]] = defaultdict(list)
    for row in rows:
        found[row.delta, row.gamma].append(row)
    return [
        VerdictsReport(network, threat, found[threat.delta, threat.gamma], meanings)
        for threat in threats
    ]


def print_summary(reports: Sequence[VerdictsReport]) -> None:
    """A table with a line for each threat."""
    print_table(SUMMARY, [report.summary_cells for report in reports])
