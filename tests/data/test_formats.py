"""The parsers of the IDX and CIFAR-10 formats, and the unpackers of archives."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.data.toy import Bytes, write_cifar, write_idx, write_tar
from warpcert.data.cifar import parse_cifar10
from warpcert.data.idx import parse_idx, parse_idx_pair
from warpcert.data.unpack import unpack_gzip, unpack_tar

IMAGES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
LABELS = np.array([5, 9], np.uint8)


@given(hnp.arrays(np.uint8, hnp.array_shapes(max_dims=4, max_side=4)))
def test_idx_is_read_as_written(array: Bytes) -> None:
    read = parse_idx(write_idx(array))
    assert read.dtype == np.uint8
    np.testing.assert_array_equal(read, array)


@given(st.binary(max_size=40))
def test_any_bytes_are_idx_or_a_value_error(content: bytes) -> None:
    try:
        array = parse_idx(content)
    except ValueError:
        return
    assert write_idx(array) == content


def test_idx_rows_come_before_columns() -> None:
    images, labels = parse_idx_pair((write_idx(IMAGES), write_idx(LABELS)))
    assert images.shape == (2, 1, 3, 4)
    assert images[1, 0, 2].tolist() == [20, 21, 22, 23]
    assert labels.dtype == np.int64
    assert labels.tolist() == [5, 9]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "it starts with nothing"),
        (b"\x89PNG", "it starts with 89 50 4e 47"),
        (b"\0\0\x0d\x01\0\0\0\0", "not an IDX file of unsigned bytes"),
        (b"\0\0\x08\x03\0\0\0\x02", "IDX header of 3 axes needs 16 bytes, there are 8"),
        (write_idx(IMAGES)[:-1], r"shape \(2, 3, 4\), which is 24 bytes, but 23 follow"),
        (write_idx(IMAGES) + b"\0", "which is 24 bytes, but 25 follow"),
        (b"\0\0\x08\x02" + b"\xff" * 8, "but 0 follow"),
    ],
)
def test_wrong_idx(content: bytes, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        parse_idx(content)


@pytest.mark.parametrize(
    ("images", "labels"), [(IMAGES, LABELS[:1]), (LABELS, LABELS), (IMAGES, IMAGES)]
)
def test_idx_files_that_do_not_belong_together(images: Bytes, labels: Bytes) -> None:
    with pytest.raises(ValueError, match="do not belong together"):
        parse_idx_pair((write_idx(images), write_idx(labels)))


def test_cifar_is_label_then_red_green_blue_by_rows() -> None:
    red, green, blue = (np.full(1024, level, np.uint8) for level in (10, 20, 30))
    red[33] = 11
    record = np.concatenate([np.array([7], np.uint8), red, green, blue]).tobytes()
    images, labels = parse_cifar10((record, record + record))
    assert images.shape == (3, 3, 32, 32)
    assert images[2, :, 0, 0].tolist() == [10, 20, 30]
    assert images[2, 0, 1, 1] == 11
    assert labels.dtype == np.int64
    assert labels.tolist() == [7, 7, 7]


@pytest.mark.parametrize("size", [0, 3072, 3074])
def test_cifar_of_a_wrong_size(size: int) -> None:
    with pytest.raises(ValueError, match=f"{size} bytes, expected a positive multiple of 3073"):
        parse_cifar10((bytes(size),))


def test_cifar_of_a_wrong_label() -> None:
    content = write_cifar(np.zeros((1, 3, 32, 32), np.uint8), np.array([10], np.uint8))
    with pytest.raises(ValueError, match="label 10, expected 0 to 9"):
        parse_cifar10((content,))


def test_gzip_holds_one_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(b"content"))
    with (tmp_path / "x").open("r+b") as archive:
        got = [(name, stream.read(99)) for name, stream in unpack_gzip(archive, ("name",))]
    assert got == [("name", b"content")]


def test_tar_yields_wanted_regular_files_only(tmp_path: Path) -> None:
    members = {"a/wanted": b"1", "a/other": b"2", "../../evil": b"3", "/abs/also": b"4"}
    (tmp_path / "x").write_bytes(write_tar(members))
    with (tmp_path / "x").open("r+b") as archive:
        got = [(name, s.read(9)) for name, s in unpack_tar(archive, ("wanted", "also"))]
    assert got == [("wanted", b"1"), ("also", b"4")]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE])
def test_tar_links_and_folders_are_not_followed(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "x", "w:gz") as tar:
        info = tarfile.TarInfo("wanted")
        info.type, info.linkname = kind, "/etc/passwd"
        tar.addfile(info)
    with (tmp_path / "x").open("r+b") as archive:
        assert list(unpack_tar(archive, ("wanted",))) == []
