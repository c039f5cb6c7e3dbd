"""One line of a results file."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import pytest

from tests.run_report.verdicts import row
from warpcert.run.report import parse_finding


def test_a_line_is_read_as_it_was_written() -> None:
    found = parse_finding(json.dumps(row()))
    assert asdict(found) == row(norm=math.inf, gamma=math.inf)
    assert (found.meaning, found.against) == ("7", "3")


def test_what_may_be_missing_is_not_missed() -> None:
    needed = ("image", "label", "norm", "delta", "gamma", "status", "seconds")
    found = parse_finding(json.dumps({key: row()[key] for key in needed}))
    assert (found.border, found.method, found.reason, found.task) == ("clamp", "", "", "")
    assert (found.index, found.margin, found.rival, found.field) == (None,) * 4


@pytest.mark.parametrize("key", ["image", "label", "norm", "delta", "gamma", "status", "seconds"])
def test_a_missing_key_is_named(key: str) -> None:
    found = row()
    del found[key]
    with pytest.raises(ValueError, match=f"has no '{key}'"):
        parse_finding(json.dumps(found))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("image", 3),
        ("label", "7"),
        ("label", True),
        ("norm", 3),
        ("delta", -0.5),
        ("delta", None),
        ("gamma", "wide"),
        ("border", "torn"),
        ("status", "proved"),
        ("status", []),
        ("margin", "large"),
        ("seconds", "inf"),
        ("seconds", -1),
        ("steps", [1, 2]),
        ("steps", {"a": "b"}),
        ("field", 7),
    ],
)
def test_a_wrong_value_is_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{key} must be"):
        parse_finding(json.dumps(row(**{key: value})))


def test_what_is_not_json_is_refused() -> None:
    for line in ("[1]", "7", '"certified"', json.dumps(row()).replace("1.25", "NaN"), "[" * 10**5):
        with pytest.raises(ValueError, match=r"JSON|nested"):
            parse_finding(line)


def test_classes_have_names() -> None:
    found = parse_finding(json.dumps(row(image="cifar10:3", label=0, rival=8)))
    assert (found.meaning, found.against) == ("airplane", "ship")
    found = parse_finding(json.dumps(row(image="photos.npz[3]", label=12, rival=None)))
    assert (found.meaning, found.against) == ("12", "")


def test_half_a_character_is_written_out() -> None:
    found = parse_finding(json.dumps(row(image="\ud800.png")))
    assert found.image == r"\ud800.png"
