"""`warpcert demo`: everything in one go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.conftest import Call

PICTURES = ["cifar10.png", "fashion.png", "mnist.png", "norms.png"]


@pytest.fixture(autouse=True)
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo on four images instead of twenty."""
    monkeypatch.setattr("warpcert.cli.demo.IMAGES", "mnist:0-3")
    monkeypatch.setattr("warpcert.cli.demo.SECONDS", "0.5")


@pytest.mark.slow
def test_the_demo(call: Call, files: Path) -> None:
    answer = call("demo")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0].split()[:2] == ["images", "threat"]
    assert [row.split()[:2] for row in lines[1:10]] == [
        [f"{name}:0-99", f"T{norm},"]
        for name in ("mnist", "cifar10", "fashion")
        for norm in ("1", "2", "inf")
    ]
    assert "Can bending change what mnist-convsmall-ibp says of mnist:0-3?" in lines
    folder = Path("warpcert-demo")
    names = sorted(path.name for path in folder.iterdir())
    assert set(names) >= {*PICTURES, "results.jsonl", "report.html"}
    for name in PICTURES:
        with Image.open(folder / name) as picture:
            assert len(picture.convert("RGB").getcolors(1 << 24) or []) > 50
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert len(rows) == 4 * 3 * 2
    assert {row["status"] for row in rows} >= {"certified", "falsified"}
    assert "mnist:3" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_the_demo_goes_where_it_is_sent(
    call: Call, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpcert.cli.demo.DELTAS", ["0.3"])
    monkeypatch.setattr("warpcert.cli.demo.GAMMAS", ["inf"])
    answer = call("demo", "--out", "some/where")
    assert answer.code == 0
    names = {path.name for path in Path("some/where").iterdir()}
    assert names >= {*PICTURES, "results.jsonl", "report.html"}
    assert not Path("warpcert-demo").exists()
