"""`warpcert bounds`: known answers, as text and as JSON."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import warpcert as wc
from tests.cli.conftest import Call
from warpcert.cli.report import MOST_LINES


def strict(text: str) -> Any:
    """The value of a JSON document which has none of Python's own extensions."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("norm", ["1", "2", "inf"])
def test_a_step_has_known_bounds(call: Call, files: Path, norm: str) -> None:
    answer = call("bounds", "step.npz", "--norm", norm, "--delta", "0.25", "--format", "json")
    assert (answer.code, answer.err) == (0, "")
    value = strict(answer.out)
    # Only the two columns beside the step can change, each by a quarter.
    assert value["mean_width"] == pytest.approx(0.125, abs=1e-6)
    assert value["max_width"] == pytest.approx(0.25, abs=1e-6)
    assert value["fixed"] == 0.5
    assert value["images"] == "step.npz"
    assert value["shape"] == [1, 4, 4]
    norms = {"1": 1, "2": 2, "inf": "inf"}
    threat = {"norm": norms[norm], "delta": 0.25, "gamma": "inf", "border": "clamp"}
    assert value["threat"] == threat
    assert value["seconds"] > 0
    assert value["picture"] is None
    (each,) = value["each"]
    assert (each["image"], each["label"], each["fixed"]) == ("step.npz", 3, 0.5)


def test_the_text_says_the_same(call: Call, files: Path) -> None:
    answer = call("bounds", "step.npz", "--norm", "2", "--delta", "0.25")
    assert (answer.code, answer.err) == (0, "")
    first, *table = answer.out.splitlines()
    assert first.startswith("step.npz: 1 image of 1 x 4 x 4, T2, delta 0.25, gamma inf, ")
    assert table == [
        "image     class  mean width  max width  fixed",
        "step.npz  3          0.1250     0.2500  50.0%",
    ]


def test_a_pixel_is_fixed_if_no_channel_can_change(call: Call, files: Path) -> None:
    value = strict(call("bounds", "colour.npz", "--delta", "0.25", "--format", "json").out)
    assert value["mean_width"] == pytest.approx(0.25 / 3, abs=1e-6)  # two channels of three
    assert value["fixed"] == 0.5
    assert value["each"][0]["label"] is None


def test_every_option_arrives(call: Call, files: Path) -> None:
    words = ("--norm", "1", "--delta", "1.5", "--gamma", "0.25", "--border", "inside")
    value = strict(call("bounds", "mnist:3-4", *words, "--format", "json").out)
    images, labels = wc.load_images("mnist:3-4")
    box = wc.pixel_bounds(images, wc.Threat(1.0, 1.5, 0.25, "inside"))
    widths = box.width.double()
    assert value["threat"] == {"norm": 1, "delta": 1.5, "gamma": 0.25, "border": "inside"}
    assert value["mean_width"] == float(widths.mean())
    assert [each["image"] for each in value["each"]] == ["mnist:3", "mnist:4"]
    assert [each["label"] for each in value["each"]] == labels.tolist()
    assert [each["mean_width"] for each in value["each"]] == widths.mean((1, 2, 3)).tolist()
    assert [each["max_width"] for each in value["each"]] == widths.amax((1, 2, 3)).tolist()


def test_several_images_are_listed_and_summed_up(call: Call, files: Path) -> None:
    lines = call("bounds", "cifar10:0-2").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        "image", "cifar10:0", "cifar10:1", "cifar10:2", "all"
    ]  # fmt: skip
    assert [line.split()[1] for line in lines[2:5]] == ["cat", "ship", "ship"]


def test_many_images_are_not_all_listed(call: Call, files: Path) -> None:
    lines = call("bounds", "twenty-five.npz").out.splitlines()
    assert len(lines) == 2 + MOST_LINES + 2
    assert lines[-3].startswith(f"twenty-five.npz[{MOST_LINES - 1}]  -  ")
    assert lines[-2] == "... and 5 more"
    assert lines[-1].startswith("all ")
    everything = strict(call("bounds", "twenty-five.npz", "--format", "json").out)
    assert len(everything["each"]) == 25


@pytest.mark.parametrize(("count", "note"), [(8, ""), (9, " (the first 8 of 9 images)")])
def test_the_picture_is_named_and_a_cut_is_told(
    call: Call, files: Path, count: int, note: str
) -> None:
    answer = call("bounds", f"mnist:0-{count - 1}", "--out", "bounds.png")
    assert answer.out.splitlines()[-1] == f"picture: bounds.png{note}"
    assert (files / "bounds.png").stat().st_size > 0


def test_the_picture_is_in_the_json(call: Call, files: Path) -> None:
    value = strict(call("bounds", "step.png", "--out", "b.svg", "--format", "json").out)
    assert value["picture"] == "b.svg"
    assert (files / "b.svg").read_text().count("<image") == 5  # four panels and the colour bar


@pytest.mark.parametrize("name", ["$x_{$.png", "[red]ü.png", "a\nb.png", "\x1b[31m.png", "漢.png"])
def test_a_file_may_have_any_name(call: Call, files: Path, name: str) -> None:
    shutil.copy("step.png", name)
    answer = call("bounds", name, "--out", "b.png")
    assert (answer.code, answer.err) == (0, "")
    assert len(answer.out.splitlines()) == 4
    assert "\x1b" not in answer.out
    assert strict(call("bounds", name, "--format", "json").out)["images"] == name


def test_a_terminal_gets_a_table_that_fits(
    call: Call, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    name = "[red]" + "long" * 20 + ".png"
    shutil.copy("step.png", name)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", call("bounds", name).out).splitlines()
    assert max(map(len, lines[1:])) <= 60
    assert "[red]long" in lines[3]


def test_numbers_may_be_written_in_any_way(call: Call, files: Path) -> None:
    words = ("--norm", "INF", "--delta", "5e-1", "--gamma", "Infinity")
    value = strict(call("bounds", "step.png", *words, "--format", "json").out)
    assert value["threat"] == {"norm": "inf", "delta": 0.5, "gamma": "inf", "border": "clamp"}
