"""Every wrong use is one line, exit code 2, and no traceback."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from warpcert.cli import main

Refuse = Callable[..., str]

WRONG = {
    "bounds nowhere.png": "nowhere.png does not exist",
    "bounds .": "names no data set",
    "bounds cut.png": "cut.png cannot be read",
    "bounds nan.npz": "NaN",
    "bounds bytes.npz": "divide by 255",
    "bounds imagenet:0": "names no data set: use one of mnist, cifar10, fashion",
    "bounds mnist:10000": "10000 is past the end",
    "bounds mnist:3-1": "runs backwards",
    "bounds mnist:0 --norm 3": "'--norm': '3' is not one of '1', '2', 'inf' (see",
    "bounds mnist:0 --border torus": "'torus' is not one of 'clamp', 'inside'",
    "bounds mnist:0 --format xml": "'xml' is not one of 'text', 'json'",
    "bounds mnist:0 --delta -1": "--delta must be a number >= 0, got -1",
    "bounds mnist:0 --delta nan": "--delta must be a number >= 0, got nan",
    "bounds mnist:0 --delta inf": "--delta must be finite",
    "bounds mnist:0 --delta abc": "--delta must be a number >= 0, got 'abc'",
    "bounds mnist:0 --delta": "option '--delta' requires an argument (see 'warpcert",
    "bounds mnist:0 --gamma -1": "--gamma must be a number >= 0",
    "bounds mnist:0 --gamma abc": "--gamma must be a number >= 0, got 'abc'",
    "bounds mnist:0 --epsilon 1": "no such option: --epsilon (see 'warpcert bounds --help')",
    "bounds": "missing argument 'IMAGE' (see 'warpcert bounds --help')",
    "bounds mnist:0 mnist:1": "unexpected extra argument",
    "bounds mnist:0 --out no/b.png": "there is no folder no, create it first",
    "bounds mnist:0 --out step.png/b.png": "there is no folder step.png",
    "bounds mnist:0 --out b.gif": "let --out end in .png, .pdf or .svg",
    "bounds mnist:0 --out b": "let --out end in .png, .pdf or .svg",
    "bounds step.png --out step.png": "step.png is the image itself",
    "bounds step.png --out ./step.png": "step.png is the image itself",
    "bounds mnist:500": "download them where there is a network (warpcert data fetch mnist)",
    "bounds mnist:500 --data no": "--data 'no' is not a folder: create it or name another",
    "data --data no": "--data 'no' is not a folder: create it or name another",
    "data --format xml": "'xml' is not one of 'text', 'json' (see 'warpcert data --help')",
    "data mnist": "no such command 'mnist' (see 'warpcert data --help')",
    "data fetch": "missing argument 'NAME...' (see 'warpcert data fetch --help')",
    "data fetch imagenet": "no data set is named 'imagenet': use one of mnist, cifar10, fashion",
    "data fetch mnist --data step.png": "cannot create the folder",
    "data --data . fetch mnist": "options come last: warpcert data fetch NAME --data DIR",
    "data --format json fetch mnist": "options come last",
    "demo --out step.png": "cannot make the folder step.png (File exists)",
    "demo --out step.png/demo": "cannot make the folder step.png/demo",
    "demo now": "unexpected extra argument",
    "frobnicate": "no such command 'frobnicate' (see 'warpcert --help')",
    "--frobnicate": "no such option: --frobnicate (see 'warpcert --help')",
}


@pytest.mark.parametrize("words", WRONG)
def test_one_line_says_what_is_wrong(refusal: Refuse, files: Path, words: str) -> None:
    before = sorted(files.iterdir())
    assert WRONG[words] in refusal(*words.split())
    assert sorted(files.iterdir()) == before


def test_an_empty_name(refusal: Refuse, files: Path) -> None:
    assert "'' names no data set" in refusal("bounds", "")


def test_a_name_that_would_break_the_line(refusal: Refuse, files: Path) -> None:
    line = refusal("bounds", "no\nsuch\r\x1b[2Jfile\udcff.png")
    assert line == r"warpcert: no such \x1b[2Jfile\udcff.png does not exist: name a file"


def test_a_folder_is_no_picture(refusal: Refuse, files: Path) -> None:
    (files / "folder.png").mkdir()
    assert "folder.png is a folder" in refusal("bounds", "mnist:0", "--out", "folder.png")


def test_a_read_only_folder(refusal: Refuse, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:  # root may write everywhere
        monkeypatch.setattr("os.access", lambda *_: False)
    else:
        files.chmod(0o555)
    try:
        line = refusal("bounds", "step.png", "--out", "b.png")
    finally:
        files.chmod(0o755)
    assert "b.png cannot be written: . is read-only, name another folder" in line


def test_a_missing_data_folder_in_the_environment(
    refusal: Refuse, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPCERT_DATA", "no")
    assert "WARPCERT_DATA='no' is not a folder" in refusal("data")


def raising(error: BaseException) -> Callable[..., None]:
    def function(*_: object, **__: object) -> None:
        raise error

    return function


@pytest.mark.parametrize("error", [ValueError("odd"), RuntimeError("odd"), OSError(errno.EIO, "")])
def test_a_defect_keeps_its_traceback(
    files: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr("warpcert.flow.pixel_bounds", raising(error))
    with pytest.raises(type(error)) as caught:
        main(["bounds", "mnist:0"])
    assert caught.value is error


def test_an_interruption_is_one_line(
    call: Call, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpcert.flow.pixel_bounds", raising(KeyboardInterrupt()))
    answer = call("bounds", "mnist:0")
    assert (answer.code, answer.out, answer.err) == (130, "", "warpcert: interrupted\n")
