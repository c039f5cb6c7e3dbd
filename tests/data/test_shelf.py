"""Whole data sets in a folder: found in the usual places, trusted only by their SHA-256."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.data.toy import Toy
from warpcert.data import CIFAR10, DATASETS, FASHION, MNIST, Selection, Shelf, open_shelf
from warpcert.data.images import load_selection


def fill(folder: Path, toy: Toy, packed: bool = False) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in toy.contents.items():
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("split", ["test", "train"])
def test_files_are_read_from_every_place(
    toy: Toy, tmp_path: Path, place: int, packed: bool, split: str
) -> None:
    fill(tmp_path / toy.dataset.folders[place], toy, packed)
    selection = Selection(toy.dataset, split, (1, 0, 1))
    images, labels = load_selection(selection, root=tmp_path)
    np.testing.assert_array_equal(images, toy.arrays[split][0][[1, 0, 1]])
    np.testing.assert_array_equal(labels, toy.arrays[split][1][[1, 0, 1]])


def test_the_environment_names_the_folder(
    idx_toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "there", idx_toy)
    monkeypatch.setenv("WARPCERT_DATA", str(tmp_path / "there"))
    load_selection(Selection(idx_toy.dataset, "train", (8,)))
    assert open_shelf(idx_toy.dataset).root == tmp_path / "there"
    (tmp_path / "here").mkdir()
    assert open_shelf(idx_toy.dataset, tmp_path / "here").root == tmp_path / "here"


def test_without_a_name_it_is_the_cache(
    idx_toy: Toy, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_shelf(idx_toy.dataset) == Shelf(idx_toy.dataset, cache, named=False)
    monkeypatch.setenv("WARPCERT_DATA", "")
    assert open_shelf("mnist") == Shelf(MNIST, cache, named=False)


def test_a_named_folder_has_to_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for name in ("file", "nothing"):
        with pytest.raises(ValueError, match=f"root='.*{name}' is not a folder"):
            open_shelf("mnist", tmp_path / name)
        monkeypatch.setenv("WARPCERT_DATA", str(tmp_path / name))
        with pytest.raises(ValueError, match=f"WARPCERT_DATA='.*{name}' is not a folder"):
            open_shelf("mnist")
    with pytest.raises(ValueError, match="root='' is not a folder"):
        open_shelf("mnist", "")


def test_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="no data set is named 'svhn': use one of mnist, cifar10"):
        open_shelf("svhn")


def test_missing_files_name_the_ways_out(idx_toy: Toy, tmp_path: Path) -> None:
    dataset = replace(idx_toy.dataset, bundled=100)
    with pytest.raises(ValueError, match="no test-images") as caught:
        load_selection(Selection(dataset, "test", (100,)), root=tmp_path)
    line = str(caught.value)
    assert "\n" not in line
    for way in ("toy:0-99", "root=", "WARPCERT_DATA", "warpcert.data.fetch('toy')"):
        assert way in line


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), "is not the official test-"),
        (lambda content: content[:-1], "has only .* bytes of content, the official file has"),
        (lambda content: content + b"\0", "has more than .* bytes of content"),
        (lambda content: b"", "has only 0 bytes of content"),
        (lambda content: content + bytes(10**7), "has more than"),
    ],
)
def test_other_content_is_refused(toy: Toy, tmp_path: Path, packed, change, line: str) -> None:
    file = toy.dataset.test.files[0]
    line = line.replace("test-", file.name)
    fill(tmp_path, toy)
    content = change(toy.contents[file.name])
    (tmp_path / file.name).unlink()
    name, stored = (f"{file.name}.gz", gzip.compress(content)) if packed else (file.name, content)
    (tmp_path / name).write_bytes(stored)
    with pytest.raises(ValueError, match=line):
        load_selection(Selection(toy.dataset, "test", (0,)), root=tmp_path)
    shelf = open_shelf(toy.dataset, tmp_path)
    assert shelf.missing == ()
    assert shelf.damaged == (file,)


@pytest.mark.parametrize("cut", [0, 1, 15, -9, -1])
def test_a_damaged_gz_is_one_line(idx_toy: Toy, tmp_path: Path, cut: int) -> None:
    fill(tmp_path, idx_toy, packed=True)
    path = tmp_path / "test-images.gz"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"test-images\.gz (cannot be read|has only)") as caught:
        load_selection(Selection(idx_toy.dataset, "test", (0,)), root=tmp_path)
    assert caught.value.__cause__ is None


def test_garbage_instead_of_gz(idx_toy: Toy, tmp_path: Path) -> None:
    fill(tmp_path, idx_toy, packed=True)
    (tmp_path / "test-labels.gz").write_bytes(b"<html>404</html>")
    with pytest.raises(ValueError, match=r"test-labels\.gz cannot be read"):
        load_selection(Selection(idx_toy.dataset, "test", (0,)), root=tmp_path)


def test_only_the_files_of_the_split_are_needed(idx_toy: Toy, tmp_path: Path) -> None:
    fill(tmp_path, idx_toy)
    for file in idx_toy.dataset.train.files:
        (tmp_path / file.name).unlink()
    load_selection(Selection(idx_toy.dataset, "test", (0,)), root=tmp_path)
    shelf = open_shelf(idx_toy.dataset, tmp_path)
    assert shelf.missing == idx_toy.dataset.train.files
    assert shelf.damaged == ()


def test_one_data_set_is_not_taken_for_another(idx_toy: Toy, tmp_path: Path) -> None:
    fill(tmp_path, idx_toy)
    files = tuple(replace(file, sha256="0" * 64) for file in idx_toy.dataset.test.files)
    other = replace(idx_toy.dataset, test=replace(idx_toy.dataset.test, files=files))
    with pytest.raises(ValueError, match="is not the official"):
        load_selection(Selection(other, "test", (0,)), root=tmp_path)


def test_a_data_set_is_a_value() -> None:
    assert len({MNIST, CIFAR10, FASHION, replace(MNIST, url="http://127.0.0.1")}) == 4
    for dataset in DATASETS.values():
        assert {f for d in dataset.downloads for f in d.files} == set(dataset.files)
        assert len({file.sha256 for file in dataset.files}) == len(dataset.files)
        assert len(dataset.classes) == 10


def test_the_whole_data_sets_are_official(whole: Path) -> None:
    for name in DATASETS:
        shelf = open_shelf(name, whole)
        assert (shelf.missing, shelf.damaged) == ((), ())
