"""`picture_uri`: a small picture that a page can carry in itself."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST = 160
"""The most dots along a side; larger images are averaged down."""

_GREY, _COLOUR = 0, 2


def picture_uri(image: NDArray[Any]) -> str:
    """An image (C, H, W) in [0, 1], of one channel or three, as a PNG in a data URI."""
    return "data:image/png;base64," + base64.b64encode(_encode(_shrink(image))).decode("ascii")


def _shrink(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Bytes (H, W, C), of the means over squares of as many pixels as it takes."""
    side = -(-max(image.shape[1:]) // LONGEST)
    channels, height, width = image.shape
    if side > 1:
        padding = ((0, 0), (0, -height % side), (0, -width % side))
        image = np.pad(image, padding, mode="edge")
        tiles = image.reshape(channels, image.shape[1] // side, side, -1, side)
        image = tiles.mean((2, 4))
    return np.rint(255 * np.clip(image, 0, 1)).astype(np.uint8).transpose(1, 2, 0)


def _encode(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG of bytes (H, W, C); no filter, since small pictures gain nothing by one."""
    height, width, channels = pixels.shape
    kind = _GREY if channels == 1 else _COLOUR
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
        + _chunk(b"IDAT", zlib.compress(lines, 9))
        + _chunk(b"IEND", b"")
    )


def _chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )
