"""`warpcert nets` lists the zoo."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.cli.conftest import Call
from warpcert.data import ZOO


def test_the_table_names_every_network(call: Call) -> None:
    answer = call("nets")
    assert (answer.code, answer.err) == (0, "")
    heading, *rows = answer.out.splitlines()
    assert heading.split()[:4] == ["name", "data", "set", "architecture"]
    assert "certified / correct / all" in heading
    for row, specimen in zip(rows, ZOO.values(), strict=False):
        assert row.split()[:4] == [
            specimen.name, specimen.dataset, specimen.architecture, specimen.training
        ]  # fmt: skip
        counts = specimen.test
        assert f" {counts.certified} / {counts.correct} / 10000 " in row and specimen.threat in row
    assert any("classified rightly" in row for row in rows[len(ZOO) :])


def test_one_to_be_made_says_how(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    first = next(iter(ZOO.values()))
    absent = replace(first, name="large", ships=False)
    monkeypatch.setattr("warpcert.data.ZOO", {first.name: first, "large": absent})
    answer = call("nets")
    assert f"large is to be made: {first.command} --out FOLDER\n" in answer.out
    assert answer.out.splitlines()[2].endswith("to be made")
    assert first.name not in answer.out.splitlines()[4]


def test_programs_get_everything(call: Call) -> None:
    answer = call("nets", "--format", "json")
    assert (answer.code, answer.err) == (0, "")
    value = json.loads(answer.out)
    assert [net["name"] for net in value] == list(ZOO)
    for net in value:
        specimen = ZOO[net["name"]]
        assert net["sha256"] == specimen.sha256 and net["command"] == specimen.command
        assert net["test"]["all"] == 10_000 and net["bundled"]["all"] == 100
        assert set(net["test_by_delta"]) == {"0.3", "0.4", "0.5", "0.7", "0.9"}
        assert 0 <= net["certified"] <= net["accuracy"] <= 1
