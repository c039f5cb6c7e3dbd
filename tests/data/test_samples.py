"""The samples that come with the package are the published images, in the published order."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.data.toy import Toy
from warpcert.data import DATASETS, load_images
from warpcert.data.bundled import load_bundled
from warpcert.data.make_samples import main, make_samples

LABELS = {
    "mnist": [7, 2, 1, 0, 4, 1, 4, 9, 5, 9],
    "cifar10": [3, 8, 8, 0, 6, 6, 1, 6, 3, 1],
    "fashion": [9, 2, 1, 1, 6, 1, 4, 6, 5, 7],
}
SHA256 = {
    "mnist": "8a004a2f81a80f4866259cbb77cf37af89315036b298b250b4d45c24aaa92048",
    "cifar10": "8350a243de0d3a9b8a55d4ff25a8b8b51e6c922ef7e7d4c551dab437c47990b2",
    "fashion": "d8c9b85550f6c8fa33478e27cb3fe70fd34b4cc96e6ab91b911853b51fb3d527",
}
FIRST_IMAGE_SUMS = {"mnist": [18454], "cifar10": [112665, 113426, 106871], "fashion": [33456]}


@pytest.mark.parametrize("name", DATASETS)
class TestEverySample:
    def test_labels(self, name: str) -> None:
        _, labels = load_images(name)
        assert labels.dtype == torch.int64
        assert labels[:10].tolist() == LABELS[name]

    def test_shape_and_range(self, name: str) -> None:
        images, labels = load_images(name)
        assert images.dtype == torch.float32
        assert images.shape == (100, *DATASETS[name].shape)
        assert labels.shape == (100,)
        assert images.min() == 0
        assert images.max() == 1
        assert set(labels.tolist()) == set(range(10))

    def test_pixels(self, name: str) -> None:
        images, _ = load_bundled(DATASETS[name])
        assert images.dtype == np.uint8
        assert hashlib.sha256(images.tobytes()).hexdigest() == SHA256[name]

    def test_channel_order(self, name: str) -> None:
        images, _ = load_bundled(DATASETS[name])
        assert images[0].sum(axis=(1, 2)).tolist() == FIRST_IMAGE_SUMS[name]

    def test_equal_the_whole_data_set(self, name: str, whole: Path) -> None:
        images, labels = load_images(f"{name}:0-100", root=whole)
        sample_images, sample_labels = load_images(f"{name}:0-99")
        assert torch.equal(images[:100], sample_images)
        assert torch.equal(labels[:100], sample_labels)

    def test_can_be_made_again(self, name: str, whole: Path, tmp_path: Path) -> None:
        path = make_samples(DATASETS[name], whole, tmp_path)
        images, labels = load_images(path)
        assert torch.equal(images, load_images(name)[0])
        assert torch.equal(labels, load_images(name)[1])

    def test_whole_splits(self, name: str, whole: Path) -> None:
        for split, expected in DATASETS[name].splits.items():
            _, labels = load_images(f"{name}/{split}", root=whole)
            assert labels.shape == (expected.count,)
            assert labels.bincount().min() > 800

    def test_readme_names_it(self, name: str) -> None:
        samples = Path(__file__).parents[2] / "src" / "warpcert" / "data" / "samples"
        assert f"`{name}.npz`" in (samples / "README.md").read_text(encoding="utf-8")


def test_a_known_stroke_of_the_first_digit() -> None:
    images, _ = load_images("mnist:0")
    bar = (images[0, 0, 7, 6:12] * 255).round().int().tolist()
    assert bar == [84, 185, 159, 151, 60, 36]  # the top left end of the 7


def test_making_samples_is_deterministic(toy: Toy, tmp_path: Path) -> None:
    for name, content in toy.contents.items():
        (tmp_path / name).write_bytes(content)
    made = []
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        made.append(make_samples(toy.dataset, tmp_path, tmp_path / folder).read_bytes())
    assert made[0] == made[1]


def test_the_maker_says_how_it_is_used() -> None:
    with pytest.raises(SystemExit, match="usage: python -m"):
        main([])
