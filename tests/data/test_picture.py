"""One picture: PNG and JPEG in their many kinds."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from warpcert.data import load_images

DRAW = np.random.default_rng(0)
GREY = DRAW.integers(0, 256, (4, 6), np.uint8)
COLOUR = DRAW.integers(0, 256, (4, 6, 3), np.uint8)


def chunk(kind: bytes, content: bytes) -> bytes:
    end = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + end


def png(width: int, height: int, depth: int, colour: int, rows: bytes, *extra: bytes) -> bytes:
    """A PNG made by hand; `rows` are the unfiltered rows one after the other."""
    stride = len(rows) // height
    filtered = b"".join(b"\0" + rows[i * stride : (i + 1) * stride] for i in range(height))
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    parts = [chunk(b"IHDR", header), *extra, chunk(b"IDAT", zlib.compress(filtered))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")


def levels(images: Tensor) -> np.ndarray:
    return (images[0] * 255).round().byte().numpy()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "picture.png"


def test_grey_is_one_channel(path: Path) -> None:
    Image.fromarray(GREY).save(path)
    images, labels = load_images(path)
    assert images.shape == (1, 1, 4, 6)
    assert images.dtype == torch.float32
    np.testing.assert_array_equal(images[0, 0].numpy(), GREY.astype(np.float32) / np.float32(255))
    assert labels.dtype == torch.int64
    assert labels.tolist() == [-1]


def test_colour_is_red_green_blue(path: Path) -> None:
    Image.fromarray(COLOUR).save(path)
    images, _ = load_images(str(path))
    assert images.shape == (1, 3, 4, 6)
    assert images.is_contiguous()
    np.testing.assert_array_equal(levels(images), COLOUR.transpose(2, 0, 1))


@pytest.mark.parametrize("suffix", [".jpg", ".jpeg", ".JPG", ".Jpeg", ".PNG"])
def test_suffixes(tmp_path: Path, suffix: str) -> None:
    smooth = np.full((8, 8, 3), (200, 100, 50), np.uint8)
    path = tmp_path / f"picture{suffix}"
    Image.fromarray(smooth).save(path, quality=95)
    images, _ = load_images(str(path))
    assert images.shape == (1, 3, 8, 8)
    assert np.abs(levels(images)[:, 4, 4].astype(int) - (200, 100, 50)).max() <= 2


def test_grey_jpeg(tmp_path: Path) -> None:
    Image.fromarray(GREY).save(tmp_path / "grey.jpg")
    assert load_images(tmp_path / "grey.jpg")[0].shape == (1, 1, 4, 6)


def test_the_content_counts_not_the_suffix(tmp_path: Path) -> None:
    Image.fromarray(GREY).save(tmp_path / "picture.jpg", format="PNG")
    np.testing.assert_array_equal(levels(load_images(tmp_path / "picture.jpg")[0])[0], GREY)


def test_palette_becomes_colour(path: Path) -> None:
    palette = Image.fromarray(COLOUR).quantize(24)
    palette.save(path)
    expected = np.asarray(palette.convert("RGB")).transpose(2, 0, 1)
    np.testing.assert_array_equal(levels(load_images(path)[0]), expected)


@pytest.mark.parametrize(("depth", "rows"), [(1, b"\x40"), (2, b"\x1b"), (4, b"\x05\xaf")])
def test_few_levels_span_the_whole_range(path: Path, depth: int, rows: bytes) -> None:
    values = {1: [0, 1, 0, 0], 2: [0, 1, 2, 3], 4: [0, 5, 10, 15]}[depth]
    path.write_bytes(png(4, 1, depth, 0, rows))
    expected = [value * 255 // (2**depth - 1) for value in values]
    assert levels(load_images(path)[0])[0, 0].tolist() == expected


def test_sixteen_bit_grey(path: Path) -> None:
    values = np.array([[0, 1, 255, 256], [32768, 65534, 65535, 12345]], np.uint16)
    path.write_bytes(png(4, 2, 16, 0, values.astype(">u2").tobytes()))
    images, _ = load_images(path)
    assert images.dtype == torch.float32
    expected = values.astype(np.float32) / np.float32(65535)
    np.testing.assert_array_equal(images[0, 0].numpy(), expected)


@pytest.mark.parametrize(("colour", "channels"), [(2, 3), (4, 2), (6, 4)])
def test_sixteen_bit_colour_is_refused(path: Path, colour: int, channels: int) -> None:
    path.write_bytes(png(2, 2, 16, colour, b"\xff" * (2 * 2 * 2 * channels)))
    with pytest.raises(ValueError, match="has 16 bits per colour: save it with 8 bits"):
        load_images(path)


def test_opaque_alpha_is_dropped(path: Path) -> None:
    opaque = np.full((4, 6, 1), 255, np.uint8)
    Image.fromarray(np.concatenate([COLOUR, opaque], 2)).save(path)
    np.testing.assert_array_equal(levels(load_images(path)[0]), COLOUR.transpose(2, 0, 1))
    Image.merge("LA", (Image.fromarray(GREY), Image.fromarray(opaque[..., 0]))).save(path)
    np.testing.assert_array_equal(levels(load_images(path)[0])[0], GREY)
    Image.fromarray(COLOUR).quantize(8).save(path, transparency=bytes([255] * 8))
    assert load_images(path)[0].shape == (1, 3, 4, 6)


def test_one_transparent_pixel_is_refused(path: Path) -> None:
    alpha = np.full((4, 6), 255, np.uint8)
    alpha[3, 5] = 254
    picture = Image.fromarray(COLOUR)
    picture.putalpha(Image.fromarray(alpha))
    line = "has transparent pixels: save it on a background"
    picture.save(path)
    with pytest.raises(ValueError, match=line):
        load_images(path)
    Image.merge("LA", (Image.fromarray(GREY), Image.fromarray(alpha))).save(path)
    with pytest.raises(ValueError, match=line):
        load_images(path)
    Image.fromarray(COLOUR).quantize(8).save(path, transparency=bytes([128] + [255] * 7))
    with pytest.raises(ValueError, match=line):
        load_images(path)
    Image.fromarray(COLOUR).save(path, transparency=tuple(COLOUR[0, 0].tolist()))
    with pytest.raises(ValueError, match=line):
        load_images(path)
    Image.fromarray(GREY).save(path, transparency=int(GREY[0, 0]))
    with pytest.raises(ValueError, match=line):
        load_images(path)
    path.write_bytes(png(1, 1, 16, 0, b"\x12\x34", chunk(b"tRNS", b"\x12\x34")))
    with pytest.raises(ValueError, match=line):
        load_images(path)


def test_a_transparent_colour_that_does_not_occur(path: Path) -> None:
    path.write_bytes(png(1, 1, 16, 0, b"\x12\x34", chunk(b"tRNS", b"\x12\x35")))
    assert load_images(path)[0].item() == pytest.approx(0x1234 / 65535)
    Image.fromarray(np.zeros((2, 2), np.uint8)).save(path, transparency=7)
    assert load_images(path)[0].shape == (1, 1, 2, 2)


def test_pictures_are_turned_upright(path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter clockwise to see it upright
    Image.fromarray(GREY).save(path, exif=exif)
    np.testing.assert_array_equal(levels(load_images(path)[0])[0], np.rot90(GREY, -1))


def test_cmyk_is_refused(tmp_path: Path) -> None:
    Image.new("CMYK", (4, 4)).save(tmp_path / "print.jpg")
    with pytest.raises(ValueError, match="has colours of kind CMYK: save it as grey or RGB"):
        load_images(tmp_path / "print.jpg")


@pytest.mark.parametrize("suffix", [".png", ".jpg"])
@pytest.mark.parametrize("cut", [0, 1, 10, 40, 0.5, 0.9])
def test_a_truncated_picture_is_one_line(tmp_path: Path, suffix: str, cut: float) -> None:
    path = tmp_path / f"picture{suffix}"
    Image.fromarray(DRAW.integers(0, 256, (64, 64, 3), np.uint8)).save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(cut * len(content)) if 0 < cut < 1 else int(cut)])
    with pytest.raises(
        ValueError, match=rf"picture\{suffix} (cannot be read|is not a PNG)"
    ) as caught:
        load_images(path)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "\n" not in str(caught.value)


def test_other_kinds_of_file_are_not_opened(path: Path) -> None:
    Image.fromarray(GREY).save(path, format="BMP")
    with pytest.raises(ValueError, match="is not a PNG or JPEG file"):
        load_images(path)


@pytest.mark.parametrize("side", [8193, 10_000, 20_000, 2**31 - 1])
def test_a_decompression_bomb(path: Path, side: int) -> None:
    content = bytearray(png(1, 1, 8, 0, b"\0"))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    content[8:33] = chunk(b"IHDR", header)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="has more than 64 megapixels: make it smaller"):
        load_images(path)


def test_a_text_bomb(path: Path) -> None:
    text = chunk(b"zTXt", b"note\0\0" + zlib.compress(bytes(2**25)))
    path.write_bytes(png(1, 1, 8, 0, b"\0", text))
    with pytest.raises(ValueError, match=r"cannot be read \(Decompressed"):
        load_images(path)
