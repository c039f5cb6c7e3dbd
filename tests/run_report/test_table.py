"""The counts are right."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.run_report.verdicts import mixed, row
from warpcert.core import Status
from warpcert.run.report import Finding, parse_finding, tabulate
from warpcert.run.report.columns import write_table
from warpcert.run.report.times import time_methods


def findings(rows: list[dict[str, Any]]) -> list[Finding]:
    return [parse_finding(json.dumps(each)) for each in rows]


def test_the_numbers(tmp_path: Path) -> None:
    free, smooth = tabulate(findings(mixed(tmp_path)))
    assert (free.gamma, smooth.gamma, free.delta) == (math.inf, 0.1, 0.5)
    for line in (free, smooth):
        assert (line.certified, line.falsified, line.unknown, line.misclassified) == (7, 1, 1, 1)
        assert line.counts == "7 / 9 / 10"
        assert line.share(Status.CERTIFIED) == pytest.approx(7 / 9)
        assert line.mean_seconds == pytest.approx((8 * 0.5 + 20.0) / 10)
        assert line.median_seconds == 0.5


def test_lines_are_in_order() -> None:
    threats = [(2, 0.1, 0.5), ("inf", "inf", 1.0), (2, "inf", 1), (2, "inf", 0.5), (1, 0, 0.5)]
    rows = [row(norm=n, gamma=g, delta=d) for n, g, d in threats]
    lines = tabulate(findings(rows))
    assert [(line.norm, line.gamma, line.delta) for line in lines] == [
        (1, 0, 0.5),
        (2, math.inf, 0.5),
        (2, math.inf, 1),
        (2, 0.1, 0.5),
        (math.inf, math.inf, 1),
    ]


def test_tasks_count_together_where_they_share_no_image() -> None:
    rows = [row(), row(task="fedcba9876543210", image="mnist:1")]
    (line,) = tabulate(findings(rows))
    assert (line.task, line.images) == ("", 2)


def test_tasks_that_share_an_image_are_kept_apart() -> None:
    rows = [row(), row(task="fedcba9876543210"), row(task="fedcba9876543210", image="mnist:1")]
    first, second = tabulate(findings(rows))
    assert (first.task, first.images) == ("01234567", 1)
    assert (second.task, second.images) == ("fedcba98", 2)
    assert write_table([first, second])[0].heading == "task"


def test_nothing_correct_has_no_shares() -> None:
    (line,) = tabulate(findings([row(status="misclassified", margin=-1)]))
    assert line.share(Status.CERTIFIED) is None
    assert [c.cells for c in write_table([line]) if c.heading == "certified of correct"] == [("–",)]


def test_the_columns() -> None:
    columns = write_table(tabulate(findings([row(seconds=0.0004)])))
    assert {column.heading: column.cells[0] for column in columns} == {
        "norm": "∞",
        "gamma": "∞",
        "delta": "0.5",
        "certified / correct / all": "1 / 1 / 1",
        "certified of correct": "100.0 %",
        "falsified": "0",
        "unknown": "0",
        "misclassified": "0",
        "mean seconds": "0.0004",
        "median seconds": "0.0004",
    }
    inside = write_table(tabulate(findings([row(border="inside")])))
    assert inside[0].heading == "border"


def test_times_by_method(tmp_path: Path) -> None:
    times = time_methods(findings(mixed(tmp_path)))
    assert [(each.method, len(each.seconds), each.median) for each in times] == [
        ("attack", 2, 0.5),
        ("deeppoly", 14, 0.5),
        ("alpha", 2, 20.0),
    ]
