"""`parse_idx_pair`: the IDX format of MNIST and of the data sets made in its likeness."""

from __future__ import annotations

import math
import struct

import numpy as np
from numpy.typing import NDArray

from warpcert.data.dataset import Arrays

_UBYTE = 0x08


def parse_idx(content: bytes) -> NDArray[np.uint8]:
    """The array of an IDX file of unsigned bytes, of the shape its header names."""
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _UBYTE:
        raise ValueError(
            f"not an IDX file of unsigned bytes: it starts with {content[:4].hex(' ') or 'nothing'}"
            ", expected 00 00 08 and the number of axes"
        )
    axes = content[3]
    start = 4 + 4 * axes
    if len(content) < start:
        raise ValueError(f"IDX header of {axes} axes needs {start} bytes, there are {len(content)}")
    shape = struct.unpack(f">{axes}I", content[4:start])
    if len(content) - start != math.prod(shape):
        raise ValueError(
            f"IDX header names shape {shape}, which is {math.prod(shape)} bytes, "
            f"but {len(content) - start} follow"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def parse_idx_pair(contents: tuple[bytes, ...]) -> Arrays:
    """Images (N, 1, H, W) and labels (N,) of an image file (N, H, W) and a label file (N,)."""
    images, labels = map(parse_idx, contents)
    if images.ndim != 3 or labels.shape != images.shape[:1]:
        raise ValueError(
            f"IDX images of shape {images.shape} and labels of shape {labels.shape} "
            "do not belong together: expected (N, H, W) and (N,)"
        )
    return images[:, None], labels.astype(np.int64)
