"""`warpcert train`: a run from the command line, and everything that can be mended in one line."""

from __future__ import annotations

import argparse
import errno
import inspect
import json
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call
from tests.train.conftest import make_deck
from warpcert.cli.train import Loss, Rates, train
from warpcert.train import ARCHITECTURES, OBJECTIVES
from warpcert.train.options import Options, Place, add_options, flag_of
from warpcert.train.schedule import SHAPES

WORDS = "train ConvSmall mnist --delta 0.3 --epochs 2 --batch 10 --validation 12 --device cpu"


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sixty images in place of a data set, and an empty current folder."""
    deck = make_deck()
    monkeypatch.setattr("warpcert.train.job.load_deck", lambda dataset, split, root: deck)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WARPCERT_DATA", str(tmp_path))
    return tmp_path


def run(call: Callable[..., Any], *more: str, words: str = WORDS) -> Any:
    return call(*words.split(), "--out", "out", *more)


@pytest.mark.usefixtures("few")
def test_a_run(call: Call) -> None:
    answer = run(call)
    assert answer.code == 0
    said = answer.err.splitlines()
    assert len(said) == 2 and said[0].startswith("warpcert: epoch 1/2: loss ")
    assert (
        "certified / correct / all " in said[1] and " / 12;" in said[1] and "; 0 s left" in said[1]
    )
    heading, *rows, note, last = answer.out.splitlines()
    assert heading.split() == ["threat", "certified", "/", "correct", "/", "all"]
    assert [row.split("gamma")[0].strip() for row in rows] == [
        f"Tinf, delta {delta}," for delta in (0.3, 0.4, 0.5, 0.7, 0.9)
    ]
    assert all(" / 60 (" in row for row in rows)
    assert note.startswith("Test images:") and last == "out/network.onnx: 0.2 MB, out/log.png"
    names = {path.name for path in Path("out").iterdir()}
    assert names == {
        "checkpoint.pt", "log.jsonl", "log.png", "network.onnx", "summary.json", "weights.npz"
    }  # fmt: skip
    assert Path("out/log.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("few")
def test_the_same_again_changes_nothing_and_answers_json(call: Call) -> None:
    assert run(call, "--plot", "picture.svg").code == 0
    assert not Path("out/log.png").exists() and "svg" in Path("picture.svg").read_text()
    kept = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    answer = run(call, "--format", "json")
    value = json.loads(answer.out)
    assert value["finished"] and value["summary"]["command"].startswith("warpcert train ConvSmall")
    assert value["summary"]["test"]["all"] == 60
    now = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    now.pop("log.png")
    assert now == kept


@pytest.mark.usefixtures("few")
def test_a_run_that_is_stopped_goes_on(call: Call) -> None:
    stopped = run(call, "--stop-after", "0.001")
    assert stopped.code == 0
    assert stopped.out.startswith("time is up: out has a checkpoint")
    assert not Path("out/network.onnx").exists()
    assert len(run(call).err.splitlines()) == 1  # the second epoch alone


def folder() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("ConvSmall", "ConvMed", "(title 'ConvSmall, mnist, "),
        ("--delta 0.3", "--eps 0.3", "delta 0.3, gamma inf, 12', not 'ConvSmall, mnist, L-inf"),
        ("--batch 10", "--batch 10 --loss sabr", "other settings (loss 'ibp', not 'sabr'): repeat"),
        ("--batch 10", "--batch 10 --seed 1", "other settings (seed 0, not 1): repeat those or"),
        ("--epochs 2", "--epochs 3", "belongs to a run with other settings (epochs 2, not 3"),
    ],
)
def test_a_folder_of_another_run_is_left_alone(
    call: Call, refusal: Callable[..., str], old: str, new: str, words: str
) -> None:
    assert run(call, "--stop-after", "0.001").code == 0
    before = folder()
    assert words in run(refusal, words=WORDS.replace(old, new))
    assert folder() == before


@pytest.mark.usefixtures("few")
def test_a_folder_with_a_foreign_network_is_left_alone(refusal: Callable[..., str]) -> None:
    Path("out").mkdir()
    Path("out/network.onnx").write_bytes(b"mine")
    said = run(refusal)
    assert "out has a network.onnx but no checkpoint.pt: name another folder" in said
    assert folder() == {"out/network.onnx": b"mine"}


@pytest.mark.usefixtures("few")
def test_a_damaged_checkpoint_is_left_alone(refusal: Callable[..., str]) -> None:
    Path("out").mkdir()
    Path("out/checkpoint.pt").write_bytes(b"not torch")
    assert "out/checkpoint.pt is not a readable checkpoint: remove it" in run(refusal)
    assert folder() == {"out/checkpoint.pt": b"not torch"}


@pytest.mark.usefixtures("few")
def test_a_full_disk(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever file it hits: the log, the checkpoint, or the last one, the summary."""
    assert run(call, "--stop-after", "0.001", "--plot", "p.png").code == 0
    Path("out").rename("begun")
    sync = os.fsync
    for file in (0, 1, 4):
        shutil.copytree("begun", "out")
        before = folder()
        synced: list[int] = []

        def full(handle: int, synced: list[int] = synced, file: int = file) -> None:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                synced.append(handle)
                if len(synced) > file:
                    raise OSError(errno.ENOSPC, "No space left on device")
            sync(handle)

        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", full)
            answer = run(call)
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.splitlines()[-1] == (
            "warpcert: cannot write to out (No space left on device): make room, then go on"
        )
        after = folder()
        written = ("log.jsonl", "checkpoint.pt", "weights.npz", "network.onnx", "summary.json")
        for name in written[file:]:  # not even a half of it
            if name != "log.jsonl":
                assert after.get(f"out/{name}") == before.get(f"out/{name}")
        assert set(after) <= {f"out/{name}" for name in written}
        shutil.rmtree("out")


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (WORDS.replace("ConvSmall", "ConvTiny"), "no architecture is named 'ConvTiny': use one of"),
        (WORDS.replace("mnist", "imagenet"), "no data set is named 'imagenet': use one of"),
        (WORDS.replace("--delta 0.3", ""), "give either --eps (an L-inf ball) or --delta"),
        (WORDS + " --eps 0.3", "give either --eps (an L-inf ball) or --delta (bending)"),
        (WORDS + " --loss hope", "'hope' is not one of 'plain', 'pgd'"),
        (WORDS + " --delta x", "--delta: 'x' is no number such as 0.3 or 8/255"),
        (WORDS + " --kappa 2", "kappa must be between 0 and 1, got 2"),
        (WORDS + " --device toaster", "--device toaster is not at hand: use cpu or cuda"),
        (WORDS + " --validation 60", "--validation must be between 1 and 59, got 60"),
        (WORDS + " --data nowhere", "--data 'nowhere' is not a folder"),
        (WORDS + " --plot a.gif", "is no kind of picture"),
        (WORDS + " --rate 1e30", "training diverged in epoch 0: lower the learning rate"),
    ],
)
def test_wrong_use(refusal: Callable[..., str], words: str, said: str) -> None:
    assert said in run(refusal, words=words)


@pytest.mark.usefixtures("few")
def test_a_folder_that_cannot_be_written(refusal: Callable[..., str]) -> None:
    Path("file").write_text("")
    said = refusal(*WORDS.split(), "--out", "file/out")
    assert "file/out cannot be written (Not a directory): name another" in said


def test_missing_data(refusal: Callable[..., str], tmp_path: Path) -> None:
    said = refusal(*WORDS.split(), "--out", tmp_path / "out", "--data", tmp_path)
    assert "MNIST: no train-images-idx3-ubyte" in said and "warpcert data fetch mnist" in said


def test_both_commands_have_the_same_options() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    plain = {action.dest: action.default for action in parser._actions if action.dest != "help"}
    shown = {}
    for name, parameter in inspect.signature(train).parameters.items():
        default = parameter.default
        shown[name] = default.value if isinstance(default, Enum) else default
    for option in fields(Options):
        name = flag_of(option.name).replace("-", "_")
        assert option.name in plain and name in shown
        if option.name not in ("arch", "dataset", "epochs"):
            assert plain[option.name] == shown[name] == option.default, name
    assert {option.name for option in fields(Place)} - {"root"} <= shown.keys() | {"data"}


def test_choices_are_those_of_the_library(call: Call) -> None:
    assert [loss.value for loss in Loss] == list(OBJECTIVES)
    assert [rates.value for rates in Rates] == list(SHAPES)
    out = call("train", "--help").out
    assert all(name in out for name in ARCHITECTURES)
