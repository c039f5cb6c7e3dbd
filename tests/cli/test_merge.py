"""`warpcert merge`: shards of one job, made on the command line, become one file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Call
from tests.cli.test_certify import Column, export

Refuse = Callable[..., str]
WORDS = ("--images", "six.npz", "--delta", "0.1,0.25", "--workers", "1", "--method", "interval")


@pytest.fixture
def shards(call: Call, files: Path) -> Path:
    export(Column(0.2), "net.onnx", 1, 4, 4)
    step = np.zeros((6, 4, 4), np.float32)
    step[:, :, 2:] = np.linspace(0, 1, 6)[:, None, None]
    np.savez("six.npz", images=step, labels=np.array([3, 3, 3, 3, 3, 1]))
    for k in (1, 2, 3):
        out = call("certify", "net.onnx", *WORDS, "--shard", f"{k}/3", "--out", f"{k}.jsonl")
        assert out.code == 0
    return files


def lines(path: str) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def without_time(rows: list[dict]) -> list[dict]:
    return [{key: row[key] for key in row if key not in ("seconds", "steps")} for row in rows]


def test_shards_together_are_the_whole(call: Call, shards: Path) -> None:
    assert [len(lines(f"{k}.jsonl")) for k in (1, 2, 3)] == [4, 4, 4]
    answer = call("merge", "2.jsonl", "3.jsonl", "1.jsonl", "--out", "all.jsonl")
    assert (answer.code, answer.err) == (0, "")
    assert call("certify", "net.onnx", *WORDS, "--out", "whole.jsonl").code == 0
    assert without_time(lines("all.jsonl")) == without_time(lines("whole.jsonl"))
    first, heading, *table, last = answer.out.splitlines()
    assert first == "net.onnx on six.npz, Tinf, delta 0.1,0.25, gamma inf"
    assert "certified / correct / all" in heading
    assert table[0].startswith("Tinf, delta 0.1, gamma inf") and "5 / 5 / 6" in table[0]
    assert table[1].startswith("Tinf, delta 0.25, gamma inf") and "4 / 5 / 6" in table[1]
    assert last == "all.jsonl: 12 of 12 verdicts"


def test_a_shard_that_is_missing_is_said(call: Call, shards: Path) -> None:
    answer = call("merge", "1.jsonl", "3.jsonl", "--out", "all.jsonl")
    assert answer.out.splitlines()[-1] == "all.jsonl: 8 of 12 verdicts, 4 are missing"
    answer = call("certify", "net.onnx", *WORDS, "--out", "all.jsonl")  # and made up for
    assert answer.code == 0 and len(lines("all.jsonl")) == 12


def test_programs_get_the_counts(call: Call, shards: Path) -> None:
    answer = call("merge", "1.jsonl", "--out", "all.jsonl", "--format", "json")
    value = json.loads(answer.out)
    assert (value["verdicts"], value["asked"]) == (4, 12)
    assert [line["images"] for line in value["summary"]] == [2, 2]


def test_wrong_files(refusal: Refuse, call: Call, shards: Path) -> None:
    assert call("certify", "net.onnx", *WORDS, "--norm", "1", "--out", "other.jsonl").code == 0
    assert "different tasks" in refusal("merge", "1.jsonl", "other.jsonl", "--out", "all.jsonl")
    assert "2.jsonl is there already" in refusal("merge", "1.jsonl", "--out", "2.jsonl")
    assert "gone.jsonl cannot be read" in refusal("merge", "gone.jsonl", "--out", "all.jsonl")
    assert "not a verdict" in refusal("merge", "six.npz", "--out", "all.jsonl")
    assert "cannot be written" in refusal("merge", "1.jsonl", "--out", "no/all.jsonl")
    assert "missing option '--out'" in refusal("merge", "1.jsonl")
    assert "missing argument" in refusal("merge", "--out", "all.jsonl")
    assert not Path("all.jsonl").exists()
