"""The command trains, writes and says; wrong use is answered in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import warpcert as wc
from warpcert.train import __main__ as command
from warpcert.train import build, load_weights
from warpcert.train.options import number


@pytest.fixture
def few(monkeypatch, deck):
    """Sixty images in place of a data set."""
    monkeypatch.setattr("warpcert.train.job.load_deck", lambda dataset, split, root: deck)


def arguments(tmp_path, *more):
    words = ["ConvSmall", "mnist", "--eps", "0.1", "--epochs", "2", "--batch", "10"]
    words += ["--validation", "12", "--device", "cpu"]
    return [*words, "--out", str(tmp_path / "out"), "--root", str(tmp_path), *more]


@pytest.mark.usefixtures("few")
def test_a_run(tmp_path, capsys, deck):
    assert command.main(arguments(tmp_path)) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2 + 6
    lines = (tmp_path / "out" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [0, 1]
    path = tmp_path / "out" / "weights.npz"
    with np.load(path, allow_pickle=False) as arrays:
        assert {arrays[name].dtype for name in arrays.files} == {np.dtype(np.float32)}
    load_weights(build("ConvSmall", (1, 28, 28)), path)
    network = wc.load_network(tmp_path / "out" / "network.onnx")
    right = int((network(deck.floats().double()).argmax(1) == deck.labels).sum())
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["test"]["correct"] == right and summary["test"]["all"] == 60
    certified = summary["test"]["certified"]
    assert said[2].startswith(
        f"test, L-inf, eps 0.1: certified / correct / all {certified} / {right} / 60 ("
    )
    assert [line.split(":")[0] for line in said[3:]] == [
        f"test, Tinf, delta {delta}, gamma inf" for delta in (0.3, 0.4, 0.5, 0.7, 0.9)
    ]


@pytest.mark.usefixtures("few")
def test_a_folder_belongs_to_one_run(tmp_path, capsys):
    assert command.main(arguments(tmp_path)) == 0
    before = (tmp_path / "out" / "weights.npz").read_bytes()
    assert command.main(arguments(tmp_path)) == 0  # nothing is left to train
    assert (tmp_path / "out" / "weights.npz").read_bytes() == before
    with pytest.raises(SystemExit) as stop:
        command.main(arguments(tmp_path, "--eps", "0.2"))
    assert stop.value.code == 2 and "other settings" in capsys.readouterr().err


@pytest.mark.usefixtures("few")
def test_divergence_is_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(arguments(tmp_path, "--rate", "1e30"))
    said = capsys.readouterr().err
    assert stop.value.code == 2 and "diverged" in said and said.count("\n") == 1


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--eps", "two"], "--eps: 'two' is no number such as 0.3 or 8/255"),
        (["--eps", "8/0"], "'8/0' is no number"),
        (["--eps", "1.5"], "1.5 is not between 0 and 1"),
        (["--epochs", "0"], "epochs must be at least 1, got 0"),
        (["--device", "toaster"], "--device toaster is not at hand: use cpu or cuda"),
        (["--validation", "60"], "--validation must be between 1 and 59, got 60"),
        (["--kappa", "3"], "kappa must be between 0 and 1, got 3.0"),
        (["--delta", "0.5"], "give either --eps (an L-inf ball) or --delta (bending)"),
        (["--train-delta", "0.5"], "--train-delta goes with --delta"),
        (["--loss", "hope"], "loss must be one of plain, pgd, ibp, crown-ibp, mtl-ibp, sabr"),
        (["--schedule", "random"], "schedule must be one of linear, step, cyclic"),
        (["--norm", "3"], "--norm must be 1, 2 or inf, got '3'"),
        (["--l1", "-1"], "l1 must be at least 0 and finite, got -1.0"),
        (["--small", "0"], "small must be in (0, 1], got 0.0"),
        (["--regulariser", "nan"], "regulariser must be at least 0, got nan"),
        (["--attack-steps", "0"], "an attack needs at least 1 step, got 0"),
        (["--attack-size", "3"], "an attack's step must be in (0, 2], got 3.0"),
        (["--ramp", "5"], "a schedule needs 0 <= warm <= full <= 1"),
        (["--lowest", "1"], "--lowest: 1 is not between 0 and 0.001"),
        (["--stop-after", "0"], "--stop-after must be positive, got 0.0"),
        (["--root", "/nowhere/at/all"], "is not a folder"),
        (["--loud"], "unrecognized arguments: --loud"),
    ],
)
def test_wrong_use(tmp_path, capsys, more, words):
    with pytest.raises(SystemExit) as stop:
        command.main(arguments(tmp_path, *more))
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def test_unknown_names(tmp_path, capsys):
    for position, word, words in ((0, "ConvTiny", "ConvSmall"), (1, "imagenet", "cifar10")):
        line = arguments(tmp_path)
        line[position] = word
        with pytest.raises(SystemExit) as stop:
            command.main(line)
        said = capsys.readouterr().err
        assert stop.value.code == 2 and word in said and words in said and said.count("\n") == 1


def test_missing_data_is_said(tmp_path, capsys):
    with pytest.raises(SystemExit):
        command.main(arguments(tmp_path))
    said = capsys.readouterr().err
    assert "no train-images-idx3-ubyte" in said and said.count("\n") == 1


def test_fractions():
    assert number("--eps", "8/255", 1.0) == pytest.approx(8 / 255)


def test_damaged_weights(tmp_path):
    (tmp_path / "w.npz").write_bytes(b"nothing")
    module = build("ConvSmall", (1, 28, 28))
    with pytest.raises(ValueError, match="not a readable weight file"):
        load_weights(module, tmp_path / "w.npz")
    np.savez(tmp_path / "w.npz", a=torch.zeros(3).numpy())
    with pytest.raises(ValueError, match="not of this architecture"):
        load_weights(module, tmp_path / "w.npz")
