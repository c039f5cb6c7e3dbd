"""`warpcert data`: what there is, and fetching the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from warpcert.data import CIFAR10, DATASETS, MNIST


def test_the_list(call: Call, files: Path) -> None:
    answer = call("data")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "name     images       in the package  whole set  licence",
        "mnist    1 x 28 x 28  mnist:0-99      no         CC BY-SA 3.0",
        "cifar10  3 x 32 x 32  cifar10:0-99    no         none stated",
        "fashion  1 x 28 x 28  fashion:0-99    no         MIT",
        f"Whole sets are below {files} (--data or WARPCERT_DATA name another).",
    ]


def test_what_is_there_is_found(call: Call, tmp_path: Path) -> None:
    (tmp_path / "MNIST" / "raw").mkdir(parents=True)
    for file in MNIST.files:
        (tmp_path / "MNIST" / "raw" / f"{file.name}.gz").touch()
    (tmp_path / "cifar10").mkdir()
    (tmp_path / "cifar10" / CIFAR10.test.files[0].name).touch()
    lines = call("data", "--data", tmp_path).out.splitlines()
    assert "yes, in MNIST/raw" in lines[1]
    assert "1 of 6 files, in cifar10" in lines[2]
    mnist, cifar10, fashion = json.loads(call("data", "--data", tmp_path, "--format", "json").out)
    assert (mnist["present"], mnist["missing"]) == (True, [])
    assert mnist["folder"] == str(tmp_path / "MNIST" / "raw")
    assert cifar10["missing"] == [file.name for file in CIFAR10.train.files]
    assert (fashion["present"], fashion["folder"]) == (False, str(tmp_path / "fashion"))


def test_the_json_says_what_the_library_says(call: Call, files: Path) -> None:
    for value in json.loads(call("data", "--format", "json").out):
        dataset = DATASETS[value["name"]]
        assert tuple(value["shape"]) == dataset.shape
        assert (value["title"], value["licence"]) == (dataset.title, dataset.licence)
        assert (value["test"], value["train"]) == (dataset.test.count, dataset.train.count)
        assert value["bundled"] == f"{dataset.name}:0-{dataset.bundled - 1}"


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Path | None]]:
    """What the library was asked to fetch, of which nothing is."""
    asked: list[tuple[str, Path | None]] = []

    def fetch(name: str, root: Path | None = None, *, progress: bool = True) -> Path:
        assert not progress  # standard error is no terminal here
        asked.append((name, root))
        return Path("shelf", name)

    monkeypatch.setattr("warpcert.data.fetch", fetch)
    return asked


def test_fetching(call: Call, fetched: list[object], tmp_path: Path) -> None:
    answer = call("data", "fetch", "mnist", "fashion", "--data", tmp_path)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "mnist: shelf/mnist\nfashion: shelf/fashion\n"
    assert fetched == [("mnist", tmp_path), ("fashion", tmp_path)]


def test_nothing_is_fetched_unless_every_name_is_known(
    refusal: Callable[..., str], fetched: list[object]
) -> None:
    refusal("data", "fetch", "mnist", "imagenet")
    assert fetched == []


def test_a_download_that_fails_is_one_line(
    refusal: Callable[..., str], files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nobody listens
    monkeypatch.delenv("no_proxy", raising=False)
    line = refusal("data", "fetch", "fashion")
    assert "cannot download http://" in line
    assert "--data or WARPCERT_DATA" in line
