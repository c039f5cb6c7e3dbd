"""`read_bending`: the field that changes a label, with the image before and after it."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_BYTES = 1 << 28
"""The largest array read: a small archive can unpack to more memory than there is."""


@dataclass(frozen=True, eq=False)
class Bending:
    """A field (H, W, 2) as (dx, dy) in pixels, the image (C, H, W) and what it is bent to."""

    field: NDArray[Any]
    image: NDArray[Any]
    warped: NDArray[Any]


def read_bending(folder: Path, name: str) -> Bending:
    """Read the .npz file `name` below `folder`; what is wrong with it is a `ValueError`."""
    path = folder / name
    inside = os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))  # noqa: PTH118
    if not inside:
        raise ValueError(f"{name} lies outside the folder of the results")
    if not os.path.isfile(path):  # noqa: PTH113 - Path raises where asking is forbidden
        raise ValueError(f"{name} is missing")
    arrays = _read(path, name)
    field, image, warped = arrays["field"], arrays["image"], arrays["warped"]
    if image.ndim != 3 or image.shape[0] not in (1, 3) or not image.size:
        raise ValueError(f"{name} holds an image of shape {image.shape}")
    if warped.shape != image.shape or field.shape != (*image.shape[1:], 2):
        raise ValueError(
            f"{name} holds shapes that do not fit: image {image.shape}, warped {warped.shape}, "
            f"field {field.shape}"
        )
    return Bending(field, image, warped)


def _read(path: Path, name: str) -> dict[str, NDArray[Any]]:
    """The three arrays, all of finite numbers; pickled objects are not read."""
    arrays = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for key in ("field", "image", "warped"):
                info = archive.getinfo(f"{key}.npy")
                if info.file_size > MOST_BYTES:
                    raise ValueError("too large")
                with archive.open(info) as stream:
                    array = np.lib.format.read_array(stream, allow_pickle=False)
                if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
                    raise ValueError("not finite numbers")
                arrays[key] = array
    except Exception:  # zipfile, zlib and numpy raise errors of many unrelated classes
        raise ValueError(f"{name} is no .npz of field, image and warped") from None
    return arrays
