"""`tabulate`: what became of the images, counted for each threat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from warpcert.core import Status
from warpcert.run.report.finding import Finding

DIGITS = 8
"""Of a task's digest, enough to tell tasks apart."""


@dataclass(frozen=True)
class Line:
    """The verdicts under one threat; ``task`` is empty where all tasks count together."""

    task: str
    norm: float
    border: str
    gamma: float
    delta: float
    certified: int
    falsified: int
    unknown: int
    misclassified: int
    mean_seconds: float
    median_seconds: float

    @property
    def correct(self) -> int:
        """The images that the network classifies rightly as they are."""
        return self.certified + self.falsified + self.unknown

    @property
    def images(self) -> int:
        """All images."""
        return self.correct + self.misclassified

    @property
    def counts(self) -> str:
        """Certified / correct / all."""
        return f"{self.certified} / {self.correct} / {self.images}"

    def share(self, status: Status) -> float | None:
        """The share of the correct images with this status; None where no image is correct."""
        return int(getattr(self, status.value)) / self.correct if self.correct else None


def tabulate(rows: Sequence[Finding]) -> list[Line]:
    """One line for each threat, in the order of norm, border, gamma (inf first) and delta.

    Where tasks overlap, so that an image would be counted twice, each task has lines of its own.
    """
    apart = overlap(rows)
    groups: dict[tuple[str, tuple[float, str, float, float]], list[Finding]] = {}
    for row in rows:
        task = row.task[:DIGITS] if apart else ""
        groups.setdefault((task, row.threat), []).append(row)
    lines = [_line(task, group) for (task, _), group in groups.items()]
    return sorted(lines, key=lambda x: (x.task, x.norm, x.border, -x.gamma, x.delta))


def overlap(rows: Sequence[Finding]) -> bool:
    """Whether two tasks have judged one image under one threat."""
    tasks: dict[tuple[object, ...], set[str]] = {}
    for row in rows:
        tasks.setdefault((row.image, row.threat), set()).add(row.task)
    return any(len(names) > 1 for names in tasks.values())


def _line(task: str, rows: Sequence[Finding]) -> Line:
    found = Counter(row.status for row in rows)
    seconds = [row.seconds for row in rows]
    norm, border, gamma, delta = rows[0].threat
    return Line(
        task=task,
        norm=norm,
        border=border,
        gamma=gamma,
        delta=delta,
        certified=found[Status.CERTIFIED],
        falsified=found[Status.FALSIFIED],
        unknown=found[Status.UNKNOWN],
        misclassified=found[Status.MISCLASSIFIED],
        mean_seconds=fmean(seconds),
        median_seconds=median(seconds),
    )
