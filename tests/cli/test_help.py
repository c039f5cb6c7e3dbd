"""Help is short, says what there is, and shows examples that run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import warpcert as wc
from tests.cli.conftest import Call

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize("words", ["", "--help"])
def test_the_commands_are_listed(call: Call, words: str) -> None:
    answer = call(*words.split())
    assert (answer.code, answer.err) == (0, "")
    for command in (
        "attack",
        "bounds",
        "certify",
        "data",
        "demo",
        "merge",
        "nets",
        "report",
        "train",
    ):
        assert re.search(rf"^  {command} +\w.*\.$", answer.out, flags=re.MULTILINE)


@pytest.mark.parametrize("words", ["", "bounds", "data", "data fetch", "demo"])
def test_help_fits_on_a_screen(call: Call, words: str) -> None:
    answer = call(*words.split(), "--help")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0].startswith(f"Usage: warpcert {words}".rstrip())
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("words", ["", "bounds"])
def test_the_examples_run(
    call: Call, files: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpcert.cli.demo.IMAGES", "mnist:0-1")
    monkeypatch.setattr("warpcert.cli.demo.DELTAS", ["0.3"])
    (files / "photo.jpg").write_bytes((files / "step.png").read_bytes())
    out = call(*words.split(), "--help").out
    examples = re.findall(r"^    warpcert (.*)$", out, flags=re.MULTILINE)
    assert len(examples) >= 2
    for example in examples:
        answer = call(*example.split())
        assert answer.code == 0, example
        assert answer.err == "" or " done: " in answer.err, example


def test_the_version(call: Call) -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    assert call("--version").out == f"warpcert {project['version']}\n"
    assert wc.__version__ == project["version"]
