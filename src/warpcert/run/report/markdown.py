"""`write_markdown`: the tables, for a README or an issue."""

from __future__ import annotations

import re
from collections.abc import Sequence

from warpcert.run.report.columns import Column, write_table
from warpcert.run.report.findings import Findings
from warpcert.run.report.table import tabulate
from warpcert.run.report.times import time_methods
from warpcert.run.report.words import write_seconds


def write_markdown(findings: Findings) -> str:
    """The verdicts for each threat, the seconds for each method, and the notes."""
    times = time_methods(findings.rows)
    seconds = [
        Column("decided by", tuple(each.method for each in times), is_number=False),
        Column("images", tuple(f"{len(each.seconds)}" for each in times)),
        Column("mean seconds", tuple(write_seconds(each.mean) for each in times)),
        Column("median seconds", tuple(write_seconds(each.median) for each in times)),
    ]
    about = [f"- {_quote(key)}: {_quote(value)}" for key, value in findings.told.items()]
    parts = [
        "\n".join(about),
        write_columns(write_table(tabulate(findings.rows))),
        write_columns(seconds) if times else "",
        "\n".join(f"- {_quote(note)}" for note in findings.notes),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_columns(columns: Sequence[Column]) -> str:
    """Columns side by side."""
    heads = [_quote(column.heading) for column in columns]
    rules = ["---:" if column.is_number else ":---" for column in columns]
    rows = zip(*([_quote(cell) for cell in column.cells] for column in columns), strict=True)
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rules, *rows))


def _quote(text: str) -> str:
    """The text as it is, on one line: what Markdown or HTML would read as a sign is escaped."""
    return re.sub(r"([\\`*_\[\]<>|#&])", r"\\\1", " ".join(text.split()))
