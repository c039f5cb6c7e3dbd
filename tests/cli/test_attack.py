"""`warpcert attack`: fields, found and kept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

import warpcert as wc
from tests.cli.conftest import Call


def test_fields_are_kept_and_do_what_they_say(call: Call, files: Path) -> None:
    words = ("attack", "mnist-convsmall-ibp", "--images", "mnist:0-1", "--workers", "1")
    answer = call(*words, "--delta", "1.2", "--out", "found.jsonl")
    assert answer.code == 0
    network, threat = wc.load_network("mnist-convsmall-ibp"), wc.Threat("inf", 1.2)
    rows = [json.loads(line) for line in Path("found.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows] == ["falsified", "falsified"]
    for row in rows:
        with np.load(row["field"]) as kept:
            field, image = torch.from_numpy(kept["field"]), torch.from_numpy(kept["image"])
        assert bool(threat.contains(field[None]).all())
        scores = network(wc.warp(image[None].double(), field[None]))
        assert int(scores.argmax()) != row["label"]


def test_finding_nothing_proves_nothing(call: Call, files: Path) -> None:
    answer = call(
        "attack", "mnist-convsmall-ibp", "--images", "mnist:0", "--delta", "0.1", "--format", "json"
    )
    assert answer.code == 0
    (found,) = json.loads(answer.out)["each"]
    assert found["status"] == "unknown" and found["margin"] is None
    assert found["reason"].startswith("no field was found that changes the label")
