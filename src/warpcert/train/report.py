"""entry_line, summary_lines: a run of training in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpcert.train.log import Entry


def entry_line(entry: Entry) -> str:
    """An epoch."""
    return (
        f"epoch {entry.epoch}: {entry.seconds:.1f} s, loss {entry.loss:.4f}, "
        f"strength {entry.strength:.3f}, validation certified / correct / all "
        f"{entry.certified} / {entry.correct} / {entry.all}"
    )


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """A finished network: its test images certified / correct / all, threat by threat."""
    return [
        f"test, {threat}: certified / correct / all {counts_text(counts)}"
        for threat, counts in test_counts(summary).items()
    ]


def test_counts(summary: Mapping[str, Any]) -> dict[str, Mapping[str, int]]:
    """Counts of test images by threat, the one that the network is judged by first."""
    found = {summary["threat"]: summary["test"]}
    for delta, counts in summary["test_by_delta"].items():
        found.setdefault(f"Tinf, delta {delta}, gamma inf", counts)
    return found


def counts_text(counts: Mapping[str, int]) -> str:
    """Counts as certified / correct / all, and both shares of all."""
    certified, correct, every = counts["certified"], counts["correct"], counts["all"]
    return f"{certified} / {correct} / {every} ({certified / every:.2%}, {correct / every:.2%})"
