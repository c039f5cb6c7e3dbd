"""A row is valid JSON everywhere, and comes back as it was."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import warpcert as wc
from tests.run import tiny
from warpcert.run import Item, Row
from warpcert.run.row import make_row

ITEM = Item(0.1, math.inf, 2, 2)


def strict(line: bytes) -> dict:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    value = json.loads(line, parse_constant=refuse)
    assert isinstance(value, dict)
    return value


def test_every_key_is_there_in_order() -> None:
    value = strict(tiny.row(ITEM, field="a.fields/b.npz", steps={"interval": 0.5}).line)
    assert value == {
        "task": tiny.task().digest,
        "index": 2,
        "image": "some.npz[2]",
        "label": 1,
        "norm": "inf",
        "delta": 0.1,
        "gamma": "inf",
        "border": "clamp",
        "status": "certified",
        "margin": 0.5,
        "rival": 0,
        "method": "interval",
        "seconds": 0.01,
        "steps": {"interval": 0.5},
        "reason": "",
        "field": "a.fields/b.npz",
        "version": wc.__version__,
        "device": "cpu",
        "seed": 0,
        "reached": "inf",
    }


@pytest.mark.parametrize(
    ("changes", "written"),
    [
        ({"margin": -math.inf}, {"margin": None}),
        ({"margin": math.inf}, {"margin": "inf"}),
        ({"reached": -0.25}, {"reached": -0.25}),
        ({"gamma": 0.05}, {"gamma": 0.05}),
        ({"norm": 1.0}, {"norm": 1}),
        ({"norm": 2.0}, {"norm": 2}),
        ({"rival": None}, {"rival": None}),
        ({"delta": 0.1 + 0.2}, {"delta": 0.30000000000000004}),
        ({"image": "ö\n\x00\udcff"}, {"image": "ö\n\x00\udcff"}),
    ],
)
def test_numbers_and_names_that_are_odd(changes: dict, written: dict) -> None:
    row = tiny.row(ITEM, **changes)
    value = strict(row.line)
    assert {key: value[key] for key in written} == written
    assert row.line.count(b"\n") == 1 and row.line.endswith(b"\n")
    assert Row.parse(row.line) == row


@pytest.mark.parametrize("line", [b"", b"{}", b"3", b"[]", b'{"task": "a"', b"\xff", b"\x00" * 9])
def test_what_is_no_row_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match="not a verdict"):
        Row.parse(line)


@pytest.mark.parametrize("key", ["status", "delta", "index"])
def test_a_row_with_a_wrong_value_is_refused(key: str) -> None:
    value = tiny.row(ITEM).json | {key: "odd"}
    with pytest.raises(ValueError, match="not a verdict"):
        Row.parse(json.dumps(value).encode())


def test_the_time_of_every_step_is_kept_where_it_is_known() -> None:
    of, gallery = tiny.task(), tiny.gallery()
    timed = tiny.verdict(spent={"interval": 0.25, "alpha": 1.5})
    assert strict(make_row(of, gallery, ITEM, tiny.verdict()).line)["steps"] == {}
    row = make_row(of, gallery, ITEM, timed)
    assert strict(row.line)["steps"] == {"interval": 0.25, "alpha": 1.5}
    assert Row.parse(row.line) == row


def test_an_unknown_rival_is_null() -> None:
    made = make_row(tiny.task(), tiny.gallery(), ITEM, tiny.verdict("unknown", rival=-1))
    assert made.rival is None and Path(made.image).name == "some.npz[2]"


def test_how_low_attacks_came_is_kept() -> None:
    made = make_row(tiny.task(), tiny.gallery(), ITEM, tiny.verdict("unknown", reached=0.125))
    assert made.reached == 0.125 and Row.parse(made.line).reached == 0.125
    old = {key: value for key, value in made.json.items() if key != "reached"}
    assert Row.parse(json.dumps(old).encode()).reached == math.inf  # a file of an earlier version
