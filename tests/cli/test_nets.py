"""`warpcert nets` lists the zoo."""

from __future__ import annotations

import json

from tests.cli.conftest import Call
from warpcert.data import ZOO


def test_the_table_names_every_network(call: Call) -> None:
    answer = call("nets")
    assert (answer.code, answer.err) == (0, "")
    heading, *rows, note = answer.out.splitlines()
    assert heading.split()[:4] == ["name", "data", "set", "architecture"]
    assert [row.split()[:3] for row in rows] == [
        [specimen.name, specimen.dataset, specimen.architecture] for specimen in ZOO.values()
    ]
    first = next(iter(ZOO.values()))
    assert rows[0].split()[-2:] == [f"{first.accuracy:.1%}", f"{first.certified:.1%}"]
    assert "10,000 test images" in note


def test_programs_get_everything(call: Call) -> None:
    answer = call("nets", "--format", "json")
    assert (answer.code, answer.err) == (0, "")
    value = json.loads(answer.out)
    assert [net["name"] for net in value] == list(ZOO)
    for net in value:
        specimen = ZOO[net["name"]]
        assert net["sha256"] == specimen.sha256 and net["command"] == specimen.command
        assert 0 < net["certified"] <= net["accuracy"] <= 1
