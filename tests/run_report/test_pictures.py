"""Pictures: PNG files by hand, fields thinned out, originals without a network."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import warpcert as wc
from tests.run_report.verdicts import bend
from warpcert.run.report.arrows import MOST_ARROWS, thin_out
from warpcert.run.report.bending import read_bending
from warpcert.run.report.originals import Originals
from warpcert.run.report.png import LONGEST, picture_uri


def decode(uri: str) -> np.ndarray:
    head, _, body = uri.partition(",")
    assert head == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(body))) as picture:
        picture.load()
        return np.asarray(picture)


@pytest.mark.parametrize("spec", ["mnist:3", "cifar10:5"])
def test_a_png_has_the_images_bytes(spec: str) -> None:
    image = wc.load_images(spec)[0][0].numpy()
    wanted = np.rint(255 * image).astype(np.uint8).transpose(1, 2, 0)
    np.testing.assert_array_equal(decode(picture_uri(image)), wanted.squeeze())


def test_a_large_image_is_averaged_down() -> None:
    image = np.random.default_rng(0).random((3, 2 * LONGEST, LONGEST + 5), np.float32)
    small = decode(picture_uri(image))
    assert small.shape == (LONGEST, (LONGEST + 6) // 2, 3)
    assert small[0, 0, 1] == round(255 * float(image[1, :2, :2].mean()))


@pytest.mark.parametrize(("height", "width"), [(28, 28), (32, 20), (1, 1), (300, 2), (5, 224)])
def test_arrows_stand_on_their_pixels(height: int, width: int) -> None:
    field = np.random.default_rng(0).normal(size=(height, width, 2))
    thin = thin_out(field)
    shown = np.array(thin["v"]).reshape(-1, thin["across"], 2)
    assert max(shown.shape) <= MOST_ARROWS
    for i, line in enumerate(shown):
        for j, arrow in enumerate(line):
            y, x = (
                first + k * thin["step"] for first, k in zip(thin["first"], (i, j), strict=True)
            )
            np.testing.assert_array_equal(arrow, np.rint(100 * field[y, x]))
    assert thin["longest"] == pytest.approx(np.hypot(*field.T).max(), abs=1e-4)


def test_a_field_is_read(tmp_path: Path) -> None:
    found = read_bending(tmp_path, bend(tmp_path, 3))
    assert found.field[5, 7].tolist() == [0.5, 1.0]
    assert found.image.shape == found.warped.shape == (1, 28, 28)


def save(path: Path, **arrays: Any) -> None:
    image = np.zeros((1, 4, 4), np.float32)
    found: dict[str, Any] = {"field": np.zeros((4, 4, 2)), "image": image, "warped": image}
    np.savez(path, **found | arrays)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"field": np.zeros((4, 5, 2))}, "do not fit"),
        ({"warped": np.zeros((1, 4, 5))}, "do not fit"),
        ({"image": np.zeros((2, 4, 4))}, "shape"),
        ({"field": np.full((4, 4, 2), np.nan)}, "no .npz of field"),
        ({"image": np.array(["a"])}, "no .npz of field"),
    ],
)
def test_a_field_that_is_none_is_refused(tmp_path: Path, arrays: Any, says: str) -> None:
    save(tmp_path / "f.npz", **arrays)
    with pytest.raises(ValueError, match=says):
        read_bending(tmp_path, "f.npz")


def test_fields_elsewhere_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    save(tmp_path / "f.npz")
    for name in ("../f.npz", str(tmp_path / "f.npz")):
        with pytest.raises(ValueError, match="outside"):
            read_bending(tmp_path / "results", name)
    with pytest.raises(ValueError, match="missing"):
        read_bending(tmp_path, "g.npz")


def test_originals_are_the_named_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    two = np.random.default_rng(0).random((2, 1, 5, 5)).astype(np.float32)
    np.savez("two.npz", images=two, labels=np.array([0, 1]))
    originals = Originals()
    for name in ("mnist:0", "cifar10:99", "fashion:7"):
        np.testing.assert_allclose(originals.find(name), wc.load_images(name)[0][0])
    np.testing.assert_array_equal(originals.find("two.npz[1]"), two[1])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mnist:5000", "the whole MNIST is not on this machine"),
        ("mnist/train:3", "the whole MNIST is not on this machine"),
        ("mnist:0-3", "names 4 images"),
        ("lost.png", "no file"),
        ("<script>", "no file"),
    ],
)
def test_nothing_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, says: str
) -> None:
    monkeypatch.delenv("WARPCERT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("urllib.request.urlopen", None)
    with pytest.raises(ValueError, match=says):
        Originals().find(name)
