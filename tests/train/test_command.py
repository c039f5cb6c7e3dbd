"""The command trains, writes and says; wrong use is answered in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from warpcert.train import __main__ as command
from warpcert.train import build, load_weights


@pytest.fixture
def few(monkeypatch, deck):
    """Sixty images in place of a data set."""
    monkeypatch.setattr(command, "load_deck", lambda dataset, split, root: deck)


def arguments(tmp_path, *more):
    words = ["ConvSmall", "mnist", "--eps", "0.1", "--epochs", "2", "--batch", "10"]
    words += ["--validation", "12", "--device", "cpu"]
    return [*words, "--out", str(tmp_path / "out"), "--root", str(tmp_path), *more]


@pytest.mark.usefixtures("few")
def test_a_run(tmp_path, capsys, deck):
    assert command.main(arguments(tmp_path)) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3 and said[-1].startswith("test: ") and "eps 0.1" in said[-1]
    lines = (tmp_path / "out" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [0, 1]
    path = tmp_path / "out" / "weights.npz"
    with np.load(path, allow_pickle=False) as arrays:
        assert {arrays[name].dtype for name in arrays.files} == {np.dtype(np.float32)}
    module = build("ConvSmall", (1, 28, 28))
    load_weights(module, path)
    right = (module.eval()(deck.floats()).argmax(1) == deck.labels).double().mean()
    assert f"test: {float(right):.2%} right" in said[-1]


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
    assert stop.value.code == 1 and "diverged" in said and said.count("\n") == 1


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--eps", "two"], "argument --eps: 'two' is no number such as 0.3 or 8/255"),
        (["--eps", "8/0"], "'8/0' is no number"),
        (["--eps", "1.5"], "1.5 is not between 0 and 1"),
        (["--epochs", "0"], "epochs must be at least 1, got 0"),
        (["--device", "toaster"], "--device toaster is not at hand: use cpu or cuda"),
        (["--validation", "60"], "--validation must be between 1 and 59, got 60"),
        (["--kappa", "3"], "last_kappa must be between 0 and 1, got 3.0"),
        (["--limit-seconds", "-1"], "seconds must be positive and finite, got -1.0"),
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
    assert command._number("8/255") == pytest.approx(8 / 255)


def test_damaged_weights(tmp_path):
    (tmp_path / "w.npz").write_bytes(b"nothing")
    module = build("ConvSmall", (1, 28, 28))
    with pytest.raises(ValueError, match="not a readable weight file"):
        load_weights(module, tmp_path / "w.npz")
    np.savez(tmp_path / "w.npz", a=torch.zeros(3).numpy())
    with pytest.raises(ValueError, match="not of this architecture"):
        load_weights(module, tmp_path / "w.npz")
