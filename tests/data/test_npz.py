"""Images and labels of .npz files."""

from __future__ import annotations

import io
import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from warpcert.data import load_images

DRAW = np.random.default_rng(0)


def save(path: Path, **arrays: NDArray[Any]) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]  # its stub mixes arrays with the flag
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "images.npz"


def bytes_of(*shape: int) -> NDArray[np.uint8]:
    return DRAW.integers(0, 256, shape, np.uint8)


@pytest.mark.parametrize("channels", [1, 3])
def test_channels_first_and_last_are_told_apart(path: Path, channels: int) -> None:
    first, labels = bytes_of(5, channels, 4, 6), np.arange(5)
    expected = torch.from_numpy(first.astype(np.float32) / np.float32(255))
    for images in (first, first.transpose(0, 2, 3, 1)):
        got, got_labels = load_images(save(path, images=images, labels=labels))
        assert got.is_contiguous()
        assert torch.equal(got, expected)
        assert got_labels.tolist() == [0, 1, 2, 3, 4]


def test_three_axes_are_grey_images(path: Path) -> None:
    images = bytes_of(5, 4, 6)
    got, labels = load_images(str(save(path, images=images)))
    assert got.shape == (5, 1, 4, 6)
    assert torch.equal((got[:, 0] * 255).round().byte(), torch.from_numpy(images))
    assert labels.dtype == torch.int64
    assert labels.tolist() == [-1] * 5


@pytest.mark.parametrize("shape", [(3, 4, 6), (5, 4, 3), (5, 4, 1), (3, 4, 3)])
def test_three_axes_that_may_be_one_colour_image_need_labels(
    path: Path, shape: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match=f"are {shape[0]} grey images or one colour image"):
        load_images(save(path, images=bytes_of(*shape)))
    with pytest.raises(ValueError, match="grey images or one colour image"):
        load_images(save(path, images=bytes_of(*shape), labels=np.array([0])))
    images, _ = load_images(save(path, images=bytes_of(*shape), labels=np.zeros(shape[0], int)))
    assert images.shape == (shape[0], 1, *shape[1:])


def test_one_grey_image_is_not_ambiguous(path: Path) -> None:
    assert load_images(save(path, images=bytes_of(1, 4, 6)))[0].shape == (1, 1, 4, 6)


@pytest.mark.parametrize(
    ("shape", "line"),
    [
        ((2, 3, 4, 3), r"\(2, 3, 4, 3\) could be \(N, C, H, W\) or \(N, H, W, C\)"),
        ((2, 1, 4, 3), "could be"),
        ((2, 3, 4, 1), "could be"),
        ((2, 2, 4, 4), "have no channel axis of size 1 or 3"),
        ((4, 4), r"images have shape \(4, 4\)"),
        ((1, 2, 3, 4, 5), "images have shape"),
        ((), "images have shape"),
        ((0, 1, 4, 4), "are empty"),
        ((2, 1, 0, 4), "are empty"),
    ],
)
def test_wrong_shapes(path: Path, shape: tuple[int, ...], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        load_images(save(path, images=np.zeros(shape, np.uint8)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4", ">f8"])
def test_floats_are_taken_as_they_are(path: Path, dtype: str) -> None:
    images = np.linspace(0, 1, 2 * 4 * 5).reshape(2, 1, 4, 5).astype(dtype)
    got, _ = load_images(save(path, images=images))
    assert got.dtype == torch.float32
    np.testing.assert_array_equal(got.numpy(), images.astype(np.float32))


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (255.0, r"run from 0.0 to 255.0, not within \[0, 1\] \(did you mean to divide by 255\?\)"),
        (1.0000001, r"\(did you mean to divide by 255\?\)"),
        (-0.4, r"run from -0.4 to 0.0, .*\(undo the normalisation"),
        (np.nan, "hold NaN"),
        (np.inf, "run from 0.0 to inf"),
        (-np.inf, "run from -inf to 0.0"),
    ],
)
def test_floats_outside_are_refused(path: Path, value: float, line: str) -> None:
    images = np.zeros((2, 1, 4, 5))
    images[1, 0, 3, 4] = value
    with pytest.raises(ValueError, match=line):
        load_images(save(path, images=images))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, complex, "U3"])
def test_other_types_are_refused(path: Path, dtype: Any) -> None:
    with pytest.raises(ValueError, match=r"images are .*: save them as uint8, or as float"):
        load_images(save(path, images=np.zeros((2, 1, 4, 5), dtype)))


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64, ">i8"])
def test_labels_become_int64(path: Path, dtype: Any) -> None:
    labels = np.array([3, 1], dtype)
    got = load_images(save(path, images=bytes_of(2, 1, 4, 5), labels=labels))[1]
    assert got.dtype == torch.int64
    assert got.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        (np.array([1.0, 2.0]), r"labels are float64 of shape \(2,\): save 2 integers"),
        (np.array([1, 2, 3]), r"labels are int64 of shape \(3,\): save 2 integers"),
        (np.array([[1], [2]]), r"of shape \(2, 1\)"),
        (np.array(1), r"of shape \(\)"),
        (np.array([True, False]), "labels are bool"),
        (np.array([-2, 0]), "labels run from -2 to 0"),
        (np.array([2**63, 0], np.uint64), "labels run from 0 to 9223372036854775808"),
    ],
)
def test_wrong_labels(path: Path, labels: NDArray[Any], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        load_images(save(path, images=bytes_of(2, 1, 4, 5), labels=labels))


def test_other_arrays_are_not_even_read(path: Path) -> None:
    save(path, images=bytes_of(2, 1, 4, 5), notes=np.array([{}], object))
    load_images(path)


def test_no_images(path: Path) -> None:
    with pytest.raises(ValueError, match="holds no array named 'images'"):
        load_images(save(path, pictures=bytes_of(2, 1, 4, 5)))


class Trap:
    """Something that must not come to life."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('unpickled')",)


def test_nothing_is_unpickled(path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot be read as an \.npz of plain arrays"):
        load_images(save(path, images=np.array([Trap()], object)))
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match=r"cannot be read as an \.npz of plain arrays"):
        load_images(path)


@pytest.mark.parametrize("cut", [0, 1, 30, 100, 200, -30, -1])
@pytest.mark.parametrize("save_array", [np.savez, np.savez_compressed])
def test_a_truncated_file_is_one_line(path: Path, cut: int, save_array: Any) -> None:
    save_array(path, images=bytes_of(2, 3, 16, 16), labels=np.arange(2))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"cannot be read as an \.npz") as caught:
        load_images(path)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "\n" not in str(caught.value)


def test_a_flipped_bit_is_seen(path: Path) -> None:
    save(path, images=np.zeros((2, 3, 16, 16), np.uint8))
    content = bytearray(path.read_bytes())
    content[400] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot be read as an \.npz"):
        load_images(path)


def header(shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    described = {"descr": "|u1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, described)
    return stream.getvalue()


def test_a_header_that_promises_too_much(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("images.npy", header((10**6, 3, 10**4, 10**4)))
    with pytest.raises(ValueError, match=r"cannot be read as an \.npz"):
        load_images(path)


def test_a_decompression_bomb(path: Path) -> None:
    shape = (2**10 + 1, 1, 2**10, 2**10)
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("images.npy", "w", force_zip64=True) as stream,
    ):
        stream.write(header(shape))
        for _ in range(shape[0]):
            stream.write(bytes(2**20))
    assert path.stat().st_size < 2**23
    with pytest.raises(ValueError, match="'images' is larger than 1024 MiB: split the file"):
        load_images(path)


def test_loading_is_silent(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_images(save(path, images=bytes_of(2, 1, 4, 5)))
    assert capfd.readouterr() == ("", "")
