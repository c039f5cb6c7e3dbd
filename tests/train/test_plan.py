"""Plans name runs, and campaigns read their state off the disk."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import warpcert as wc
from tests.train.conftest import make_deck
from warpcert.train.campaign import Campaign
from warpcert.train.job import run_job
from warpcert.train.options import Options, Place
from warpcert.train.plan import read_plan
from warpcert.train.publish import publish
from warpcert.train.zoo import main

EXPERIMENTS = Path(__file__).parents[2] / "experiments"

PLAN = """
[defaults]
arch = "ConvSmall"
dataset = "mnist"
batch = 10
validation = 12
epochs = 1

[networks.good]
eps = "0.1"
kappa = [0.0, 0.5]

[networks.large]
delta = "0.5"
ships = false
"""


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder where two of three networks of the plan are trained."""
    folder, deck = tmp_path_factory.mktemp("trained"), make_deck()
    (folder / "plan.toml").write_text(PLAN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warpcert.train.job.load_deck", lambda dataset, split, root: deck)
        for entry in list(read_plan(folder / "plan.toml").values())[1:]:
            place = Place(out=folder / entry.name, root=str(folder))
            assert run_job(entry.options, place, lambda entry: None)
    return folder


@pytest.fixture
def campaign(plan, trained, tmp_path):
    """A copy of it."""
    shutil.copytree(trained, tmp_path / "runs")
    return Campaign(list(read_plan(plan).values()), tmp_path / "runs")


def test_lists_make_an_entry_of_each(plan):
    entries = read_plan(plan)
    assert list(entries) == ["good-kappa0.0", "good-kappa0.5", "large"]
    assert [entry.options.kappa for entry in entries.values()] == [0.0, 0.5, 0.5]
    assert [entry.ships for entry in entries.values()] == [True, True, False]
    assert entries["large"].options == Options(
        "ConvSmall", "mnist", 1, delta="0.5", batch=10, validation=12
    )


@pytest.mark.parametrize("name", ["zoo", "tradeoff"])
def test_the_plans_of_the_repository_can_be_read(name):
    for entry in read_plan(EXPERIMENTS / f"{name}.toml").values():
        assert entry.words[:2] == [entry.options.arch, entry.options.dataset]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[networks", "is not TOML"),
        ("", "has no table [networks.NAME]"),
        ("[networks.a]\ncolour = 1", "a has no option colour"),
        ("[networks.a]\narch = 'ConvSmall'", "a needs dataset, epochs"),
        ("[networks.a]\narch='Conv'\ndataset='mnist'\nepochs=1", "no architecture is named 'Conv'"),
        (PLAN + "[networks.'good-kappa0.5']\neps = '0.1'", "good-kappa0.5 is there twice"),
    ],
)
def test_plans_that_are_refused(tmp_path, capsys, text, words):
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(SystemExit) as stop:
        main(["rows", str(path), "--out", str(tmp_path)])
    said = capsys.readouterr().err
    assert stop.value.code == 2 and words in said and said.count("\n") == 1


def test_wrong_use(plan, tmp_path, capsys):
    for more, words in (
        (["--only", "good*,bad"], "--only bad: the plan has good-kappa0.0, good-kappa0.5, large"),
        (["--parallel", "0"], "--parallel must be at least 1, got 0"),
    ):
        with pytest.raises(SystemExit):
            main(["train", str(plan), "--out", str(tmp_path), *more])
        assert words in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["rows", str(tmp_path / "none.toml"), "--out", str(tmp_path)])
    assert "none.toml cannot be read" in capsys.readouterr().err


def test_options_say_themselves():
    options = Options("ConvBig", "cifar10", 3, delta="0.5", rate=5e-4, augment=False, clip=10.0)
    assert options.command == (
        "warpcert train ConvBig cifar10 --epochs 3 --delta 0.5 --rate 0.0005 --clip 10 --no-augment"
    )
    again = Options("ConvBig", "cifar10", 3, delta="0.5", rate=5e-4, augment=False, clip=10)
    assert again.command == options.command


def test_states_and_rows(campaign, plan, capsys):
    assert main(["rows", str(plan), "--out", str(campaign.folder)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["state"] for row in rows] == ["not begun", "finished", "finished"]
    assert rows[0]["threat"] == "L-inf, eps 0.1" and "test" not in rows[0]
    for row in rows[1:]:
        assert 0 <= row["test"]["certified"] <= row["test"]["correct"] <= row["test"]["all"] == 60
        counts = [row["test_by_delta"][d]["certified"] for d in ("0.3", "0.4", "0.5", "0.7", "0.9")]
        assert counts == sorted(counts, reverse=True)
        assert row["validation"]["all"] == 12 and row["bundled"]["all"] == 60
    assert rows[2]["test"] == rows[2]["test_by_delta"]["0.5"]


def test_a_finished_run_of_other_options_is_refused(campaign, plan, capsys):
    plan.write_text(PLAN.replace('"0.1"', '"0.2"'))
    with pytest.raises(SystemExit):
        main(["rows", str(plan), "--out", str(campaign.folder)])
    assert "was made by other options" in capsys.readouterr().err


def test_publishing(campaign, tmp_path):
    shelf = tmp_path / "weights"
    shelf.mkdir()
    (shelf / "zoo.json").write_text('{"old": {"ships": true, "bytes": 5}}')
    said = list(publish(campaign, shelf))
    assert [line.split(": ")[1] for line in said[:3]] == [
        "not begun, left as it is",
        "published",
        "published",
    ]
    index = json.loads((shelf / "zoo.json").read_text())
    assert list(index) == ["old", "good-kappa0.5", "large"]
    assert sorted(path.name for path in shelf.iterdir()) == ["good-kappa0.5.onnx", "zoo.json"]
    known = index["good-kappa0.5"]
    assert known["ships"] and not index["large"]["ships"]
    content = (shelf / "good-kappa0.5.onnx").read_bytes()
    assert known["bytes"] == len(content)
    assert said[-1] == f"{5 + len(content)} bytes ship"
    assert wc.load_network(shelf / "good-kappa0.5.onnx").input_shape == (1, 28, 28)


def test_publishing_refuses_another_file_and_too_much(campaign, tmp_path, monkeypatch):
    shelf = tmp_path / "weights"
    shelf.mkdir()
    monkeypatch.setattr("warpcert.train.publish.LIMIT", 1000)
    with pytest.raises(ValueError, match="at most 1000 may"):
        list(publish(campaign, shelf))
    assert not (shelf / "zoo.json").exists()
    path = campaign.folder / "good-kappa0.5" / "network.onnx"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ValueError, match="is not the one that was examined"):
        list(publish(campaign, shelf))


def test_runs_side_by_side_leave_their_last_words(plan, tmp_path, capsys):
    """In processes of their own; without data both fail, and say so."""
    words = ["train", str(plan), "--out", str(tmp_path / "runs"), "--only", "good*"]
    assert main([*words, "--parallel", "2", "--root", str(tmp_path), "--device", "cpu"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["good-kappa0.0: started", "good-kappa0.5: started"]
    for line in said[2:]:
        assert "failed: python -m warpcert.train: MNIST: no train-images-idx3-ubyte" in line
    assert main([*words, "--stop-after", "1"]) == 0  # no time to start anything
    assert "started" not in capsys.readouterr().out
