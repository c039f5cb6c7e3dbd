"""`write_csv`: every row, flattened, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import fields

from warpcert.run.report.finding import Finding


def write_csv(rows: Sequence[Finding]) -> str:
    """One line for each row, with a column for each step; numbers lose no digit.

    What is not known is empty, infinity is inf.
    """
    steps = list(dict.fromkeys(name for row in rows for name in row.steps))
    plain = [f.name for f in fields(Finding) if f.name != "steps"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*plain, "class", "rival_class", *(f"seconds_{name}" for name in steps)])
    for row in rows:
        values = [_cell(getattr(row, name)) for name in plain]
        taken = [_cell(row.steps.get(name)) for name in steps]
        writer.writerow([*values, row.meaning, row.against, *taken])
    return out.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{int(value)}" if value.is_integer() else repr(value)
    return str(value)
