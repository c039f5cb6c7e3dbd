"""`warpcert certify --out`: verdicts that are kept, sweeps, and what is refused."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import warpcert as wc
from tests.cli.conftest import Call, call, files, refusal
from tests.cli.test_certify import Column, export
from warpcert.cli.progress import Lines, Tally, write_time
from warpcert.run import Store

__all__ = ["call", "files", "refusal"]

Refuse = Callable[..., str]
PLAIN = ("certify", "net.onnx", "--images", "three.npz", "--delta", "0.25", "--workers", "1")
CERTIFY = (*PLAIN, "--method", "interval")
KEPT = (*CERTIFY, "--out", "r.jsonl")
ANSWERS = ["unknown", "certified", "misclassified"]


@pytest.fixture
def net(files: Path) -> Path:
    export(Column(0.2), "net.onnx", 1, 4, 4)
    step = np.zeros((3, 4, 4), np.float32)
    step[:, :, 2:] = [[[1.0]], [[0.5]], [[0.0]]]
    np.savez("three.npz", images=step, labels=np.array([3, 3, 1]))
    return files


def rows(name: str = "r.jsonl") -> list[dict]:
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


def test_verdicts_are_kept(call: Call, net: Path) -> None:
    answer = call(*KEPT)
    assert answer.code == 0
    assert [row["status"] for row in rows()] == ANSWERS
    assert [row["index"] for row in rows()] == [0, 1, 2]
    assert rows()[0]["image"] == "three.npz[0]" and rows()[0]["gamma"] == "inf"
    first, heading, line, last = answer.out.splitlines()
    assert first == "net.onnx on three.npz, Tinf, delta 0.25, gamma inf"
    assert heading.split("  ")[0] == "threat" and "certified / correct / all" in heading
    assert "1 / 2 / 3" in line and line.split()[-4:-1] == ["0", "1", "1"]
    assert last == "r.jsonl: 3 verdicts"
    progress = answer.err.splitlines()[-1]
    assert progress.startswith(
        "warpcert: 3/3 done: 1 certified, 0 falsified, 1 unknown, 1 misclassified"
    )


def test_a_field_that_changes_the_label_is_kept(call: Call, net: Path) -> None:
    """The mean of the second column reaches 0.25 of the step, and class 3 scores 0.2 only."""
    answer = call(*PLAIN, "--out", "r.jsonl")
    assert answer.code == 0 and " 1 / 2 / 3 " in answer.out
    first, *others = rows()
    assert first["status"] == "falsified" and first["margin"] < 0 and first["steps"]
    assert first["field"] == "r.fields/0-delta0.25-gammainf.npz"
    assert [row["field"] for row in others] == [None, None]
    with np.load(net / first["field"]) as arrays:
        assert wc.Threat("inf", 0.25).contains(torch.from_numpy(arrays["field"])[None]).all()
        warped = torch.from_numpy(arrays["warped"])[None]
        assert wc.load_network("net.onnx")(warped).argmax() == first["rival"] == 1
    assert not list(net.glob("**/*.part"))


def test_the_same_command_computes_nothing_again(call: Call, net: Path) -> None:
    call(*KEPT)
    before = Path("r.jsonl").read_bytes()
    again = call(*KEPT)
    assert again.code == 0 and Path("r.jsonl").read_bytes() == before
    Path("r.jsonl").write_bytes(before[: before.index(b"\n") + 40])  # a crash in the second line
    assert call(*KEPT).code == 0
    assert [row["status"] for row in rows()] == ANSWERS
    Path("moved").mkdir()
    for path in [*net.glob("*.npz"), *net.glob("*.onnx"), *net.glob("r.jsonl*")]:
        path.rename(net / "moved" / path.name)
    os.chdir("moved")  # the same task elsewhere
    assert call(*KEPT).code == 0 and len(rows()) == 3


def test_another_task_is_refused(refusal: Refuse, call: Call, net: Path) -> None:
    call(*KEPT)
    before = Path("r.jsonl").read_bytes()
    for change in (("--method", "alpha"), ("--norm", "2"), ("--timeout", "5"), ("--mean", "0.1")):
        assert "holds the verdicts of another task" in refusal(*KEPT, *change)
    export(Column(0.21), "net.onnx", 1, 4, 4)
    assert "holds the verdicts of another task" in refusal(*KEPT)
    assert Path("r.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    "sweep",
    [
        ("--delta", "0.1,0.25", "--gamma", "inf,0.5"),
        ("--delta", "0.1", "--delta", "0.25", "--gamma", "inf", "--gamma", "0.5"),
        ("--delta", "0.1, 0.25,0.1", "--gamma", "inf", "--gamma", "0.5"),
    ],
)
def test_a_sweep(call: Call, net: Path, sweep: tuple[str, ...]) -> None:
    words = ("certify", "net.onnx", "--images", "three.npz", *sweep, *CERTIFY[-4:])
    answer = call(*words, "--out", "r.jsonl", "--format", "json")
    threats = [(0.1, "inf"), (0.1, 0.5), (0.25, "inf"), (0.25, 0.5)]
    summary = json.loads(answer.out)["summary"]
    assert [(line["delta"], line["gamma"]) for line in summary] == threats
    assert [line["certified"] for line in summary] == [2, 2, 1, 1]
    assert all(line["images"] == 3 and line["correct"] == 2 for line in summary)
    assert Counter((row["delta"], row["gamma"]) for row in rows()) == dict.fromkeys(threats, 3)
    screen = json.loads(call(*words, "--format", "json").out)  # nothing kept
    assert [part["certified"] for part in screen] == [2, 2, 1, 1]
    text = call(*words).out.splitlines()
    assert text.count("2 certified / 2 correct / 3 images") == 2
    assert "Tinf, delta 0.25, gamma 0.5" in text[-1]


def test_a_shard_without_images(call: Call, net: Path) -> None:
    for more in ((), ("--out", "r.jsonl")):
        for form in ("json", "text"):
            answer = call(*CERTIFY, "--shard", "5/8", "--format", form, *more)
            assert answer.code == 0 and "Traceback" not in answer.err
    assert Path("r.jsonl").read_bytes() == b""


def test_one_number_written_twice_is_one_threat(call: Call, net: Path) -> None:
    answer = call(*CERTIFY, "--delta", "0.250", "--format", "json")
    assert json.loads(answer.out)["images"] == 3


def test_an_index_is_that_of_the_data_set(call: Call, files: Path) -> None:
    words = ("--images", "mnist:7,3", "--method", "interval", "--delta", "0.1", "--workers", "1")
    assert call("certify", "mnist-convsmall-ibp", *words, "--out", "r.jsonl").code == 0
    assert [(row["index"], row["image"]) for row in rows()] == [(7, "mnist:7"), (3, "mnist:3")]


WRONG = {
    "--out no/r.jsonl": "there is no folder no, create it first",
    "--out .": ". is a folder: name a file for the results",
    "--out three.npz": "three.npz",
    "--out net.onnx": "net.onnx",
    "--out /dev/full": "is no regular file",
    "--out /proc/r.jsonl": "/proc/r.jsonl cannot be written (",
    "--out r.jsonl --shard 3": "--shard must be K/N with 1 <= K <= N, got '3'",
    "--out r.jsonl --shard 3/2": "--shard must be K/N with 1 <= K <= N, got '3/2'",
    "--out r.jsonl --shard 0/2": "--shard must be K/N with 1 <= K <= N, got '0/2'",
    "--out r.jsonl --timeout 0": "--timeout must be a number of seconds > 0, got '0'",
    "--out r.jsonl --timeout nan": "--timeout must be a number of seconds > 0, got 'nan'",
    "--out r.jsonl --timeout soon": "--timeout must be a number of seconds > 0, got 'soon'",
    "--out r.jsonl --workers 0": "'--workers'",
    "--out r.jsonl --delta 0.1,": "--delta must be a number >= 0, got ''",
    "--out r.jsonl --delta 0.1,-1": "--delta must be a number >= 0, got -1",
    "--out r.jsonl --gamma 0.1,x": "--gamma must be a number >= 0, got 'x'",
    "--out r.jsonl --method magic": "'magic' is not one of 'auto'",
    "--out r.jsonl --device cuda:0,cuda:99": "is not to be had here: try cpu",
    "--out r.jsonl --images mnist:0": "the network takes images (B, 1, 4, 4)",
    "--out r.jsonl --images wrong.npz": "labels must be 0 to 3, got 9",
    "--out r.jsonl --images gone.npz": "gone.npz does not exist",
}


@pytest.mark.parametrize("words", WRONG)
def test_one_line_says_what_is_wrong(refusal: Refuse, net: Path, words: str) -> None:
    np.savez("wrong.npz", images=np.zeros((1, 4, 4), np.float32), labels=np.array([9]))
    before = {path: path.read_bytes() for path in net.iterdir() if path.is_file()}
    plain = [word for word in CERTIFY if "--delta" not in words or word not in ("--delta", "0.25")]
    assert WRONG[words] in refusal(*plain, *words.split())
    assert {path: path.read_bytes() for path in net.iterdir() if path.is_file()} == before


def test_an_image_named_twice(refusal: Refuse, files: Path) -> None:
    line = refusal("certify", "mnist-convsmall-ibp", "--images", "mnist:3,3", "--out", "r.jsonl")
    assert "mnist:3,3 names image 3 twice" in line


def test_two_runs_on_one_file(refusal: Refuse, call: Call, net: Path) -> None:
    from warpcert.run import read_results

    call(*KEPT)
    task = read_results(Path("r.jsonl")).task
    assert task is not None
    with Store(Path("r.jsonl"), task):
        assert "is being written by another process" in refusal(*KEPT)


def test_a_folder_that_is_read_only(refusal: Refuse, net: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    net.chmod(0o555)
    try:
        assert "r.jsonl cannot be written (Permission denied)" in refusal(*KEPT)
    finally:
        net.chmod(0o755)


def test_a_disk_that_becomes_full(call: Call, net: Path) -> None:
    """The system allows no file beyond the first verdict and a part of the second."""
    call(*KEPT)
    size = Path("r.jsonl").read_bytes().index(b"\n") + 100
    Path("r.jsonl").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "warpcert", *KEPT],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    line = done.stderr.splitlines()[-1]
    assert line.startswith("warpcert: r.jsonl cannot be written (")
    assert "the 1 verdicts in it are safe; free some space" in line
    assert "Traceback" not in done.stderr
    assert [row["status"] for row in rows()] == ANSWERS[:1]
    assert call(*KEPT).code == 0  # there is space again
    assert [row["status"] for row in rows()] == ANSWERS


def test_a_tally(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 14.0, 14.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    tally = Tally(10, Counter(certified=2))
    assert str(tally) == "2/10 done: 2 certified, 0 falsified, 0 unknown, 0 misclassified"
    tally.add("unknown")
    tally.add("falsified")
    tally.add("certified")
    assert str(tally) == (
        "5/10 done: 3 certified, 1 falsified, 1 unknown, 0 misclassified; 2.0 s each, 10 s left"
    )


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.4, "59 s"), (187, "3:07 min"), (7500, "2:05 h")]
)
def test_durations(seconds: float, words: str) -> None:
    assert write_time(seconds) == words


def test_lines_come_every_few_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.run import tiny

    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with Lines(20, Counter()) as progress:
        for item in tiny.task().items:
            now += 1.0
            progress(tiny.row(item))
    printed = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in printed] == ["5/20", "10/20", "15/20", "20/20"]
