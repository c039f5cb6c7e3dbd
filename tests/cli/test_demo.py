"""`warpcert demo`: everything in one go."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from tests.cli.conftest import Call


def test_the_demo(call: Call, files: Path) -> None:
    answer = call("demo")
    assert (answer.code, answer.err) == (0, "")
    heading, *rows, last = answer.out.splitlines()
    assert heading.split()[:2] == ["images", "threat"]
    assert [row.split()[:2] for row in rows] == [
        [f"{name}:0-99", f"T{norm},"]
        for name in ("mnist", "cifar10", "fashion")
        for norm in ("1", "2", "inf")
    ]
    named = {Path(row.split()[-1]) for row in [*rows, last]}
    assert named == set(Path("warpcert-demo").iterdir())
    assert len(named) == 4
    for path in named:
        with Image.open(path) as picture:
            assert len(picture.convert("RGB").getcolors(1 << 24) or []) > 50


def test_the_demo_goes_where_it_is_sent(call: Call, files: Path) -> None:
    answer = call("demo", "--out", "some/where")
    assert answer.code == 0
    assert sorted(path.name for path in Path("some/where").iterdir()) == [
        "cifar10.png", "fashion.png", "mnist.png", "norms.png"
    ]  # fmt: skip
    assert not Path("warpcert-demo").exists()
