"""CSV and Markdown hold what the results hold."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

from tests.run_report.verdicts import mixed, row, write
from warpcert.run.report import read_findings, tabulate, write_csv, write_markdown
from warpcert.run.report.columns import write_table

HOSTILE = 'a "b", <script>alert(1)</script>\n|x| *y* \\ &lt;'


def number(text: str) -> float | None:
    return float(text) if text else None


def test_every_value_survives_csv(tmp_path: Path) -> None:
    rows = [*mixed(tmp_path), row(image=HOSTILE, seconds=1 / 3, margin=-2 / 3, reason="ä, ö")]
    found = read_findings(write(tmp_path / "r.jsonl", rows)).rows
    read = list(csv.DictReader(io.StringIO(write_csv(found))))
    assert len(read) == len(found)
    for cells, each in zip(read, found, strict=True):
        for name in ("image", "task", "border", "status", "method", "reason"):
            assert cells[name] == getattr(each, name)
        for name in ("label", "norm", "delta", "gamma", "margin", "rival", "seconds", "index"):
            assert number(cells[name]) == getattr(each, name)
        assert cells["field"] == (each.field or "")
        assert (cells["class"], cells["rival_class"]) == (each.meaning, each.against)
        steps = {k: number(cells[f"seconds_{k}"]) for k in ("interval", "deeppoly")}
        assert steps == dict(each.steps)
    assert {number(cells["gamma"]) for cells in read} == {math.inf, 0.1}


def cells(line: str) -> list[str]:
    parts = re.split(r"(?<!\\)\|", line)[1:-1]
    return [re.sub(r"\\(.)", r"\1", part.strip()) for part in parts]


def test_the_table_survives_markdown(tmp_path: Path) -> None:
    found = read_findings(write(tmp_path / "r.jsonl", mixed(tmp_path), "{"))
    parts = write_markdown(found).strip().split("\n\n")
    assert len(parts) == 3
    columns = write_table(tabulate(found.rows))
    heads, rules, *lines = parts[0].splitlines()
    assert cells(heads) == [column.heading for column in columns]
    assert set(cells(rules)) == {"---:"}
    read = [cells(line) for line in lines]
    assert read == [list(line) for line in zip(*(c.cells for c in columns), strict=True)]
    assert "| attack | 2 | 0.500 | 0.500 |" in parts[1]
    assert parts[2] == "- The last line, 4, is torn and was passed over.".replace("4", "21")


def test_markdown_takes_nothing_as_a_sign(tmp_path: Path) -> None:
    found = read_findings(write(tmp_path / "r.jsonl", [row(method=HOSTILE)]))
    text = write_markdown(found)
    assert not re.search(r"(?<!\\)<", text)
    (line,) = [line for line in text.splitlines() if "alert" in line]
    assert cells(line)[0] == " ".join(HOSTILE.split())
    assert len(cells(line)) == 4
