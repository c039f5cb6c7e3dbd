"""The one public way to images."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from warpcert.data import load_images


def test_the_order_and_repetitions_are_those_asked_for() -> None:
    all_images, all_labels = load_images("mnist")
    images, labels = load_images("mnist:7,3-5,7")
    assert torch.equal(images, all_images[[7, 3, 4, 5, 7]])
    assert torch.equal(labels, all_labels[[7, 3, 4, 5, 7]])


def test_bundled_images_need_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPCERT_DATA", "/nowhere/at/all")
    assert load_images("cifar10:99")[0].shape == (1, 3, 32, 32)


def test_every_byte_becomes_the_nearest_float(tmp_path: Path) -> None:
    levels = np.arange(256, dtype=np.uint8).reshape(1, 1, 16, 16)
    np.savez(tmp_path / "levels.npz", images=levels)
    values = load_images(tmp_path / "levels.npz")[0].flatten().numpy()
    for byte, value in enumerate(values):
        error = abs(Fraction(float(value)) - Fraction(byte, 255))
        for other in (np.nextafter(value, np.float32(2)), np.nextafter(value, np.float32(-1))):
            assert error <= abs(Fraction(float(other)) - Fraction(byte, 255))


def test_results_are_the_callers_own() -> None:
    images, labels = load_images("mnist:0")
    images.zero_()
    labels.zero_()
    assert load_images("mnist:0")[0].max() == 1
    assert load_images("mnist:0")[1].item() == 7


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("missing.png", r"missing\.png does not exist: name a file"),
        ("missing.npz", r"missing\.npz does not exist: name a file"),
        ("folder.png", r"folder\.png is a folder: name a file"),
        ("picture.bmp", r"picture\.bmp is of no known kind: use \.npz, \.png, \.jpg or \.jpeg"),
        ("x" * 5000 + ".png", "does not exist"),
    ],
)
def test_paths_that_are_no_images(tmp_path: Path, name: str, line: str) -> None:
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "picture.bmp").touch()
    with pytest.raises(ValueError, match=line):
        load_images(tmp_path / name)


def test_a_string_with_a_suffix_is_a_path() -> None:
    with pytest.raises(ValueError, match="does not exist"):
        load_images("mnist:0.png")


def test_a_path_is_never_a_data_set() -> None:
    with pytest.raises(ValueError, match="mnist is of no known kind"):
        load_images(Path("mnist"))


def test_a_file_of_the_same_name_does_not_hide_a_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mnist").touch()
    monkeypatch.chdir(tmp_path)
    assert len(load_images("mnist")[0]) == 100


@pytest.mark.parametrize("spec", ["mnist:100", "mnist/train:0", "cifar10:5000", "fashion/train:1"])
def test_beyond_the_samples_without_files(spec: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="these come with the package") as caught:
        load_images(spec, root=tmp_path)
    assert "\n" not in str(caught.value)


def test_the_home_folder_may_be_abbreviated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    np.savez(tmp_path / "one.npz", images=np.zeros((1, 1, 2, 2), np.uint8))
    assert load_images("~/one.npz")[0].shape == (1, 1, 2, 2)


def test_importing_needs_only_torch_and_numpy() -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(('PIL', 'rich', 'platformdirs')));"
        "import warpcert.data; warpcert.data.load_images('mnist')"
    )
    source = Path(__file__).parents[2] / "src"
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(source)!r}); {program}"]
    subprocess.run(command, check=True)


def test_path_below_an_unknown_home_is_a_missing_file() -> None:
    with pytest.raises(ValueError, match="does not exist"):
        load_images("~no-such-user/picture.png")
