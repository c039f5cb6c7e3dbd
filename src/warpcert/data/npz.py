"""`load_npz`: images and labels of a NumPy archive."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpcert.data.reason import reason

MOST_BYTES = 1 << 30
"""The largest array read: a small archive can unpack to more memory than there is."""

_CHANNELS = (1, 3)


def load_npz(path: Path) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Images (N, C, H, W), uint8 or float in [0, 1], and labels (N,) of an .npz file.

    `images` may have the axes (N, C, H, W), (N, H, W, C) or (N, H, W). The channel axis is the one
    of size 1 or 3; where both could be it, the file is refused. Three axes are grey images; where
    they could as well be one colour image without its batch axis, `labels` have to tell by being
    N. Missing labels are -1.
    """
    arrays = _read(path)
    if "images" not in arrays:
        raise ValueError(f"{path} holds no array named 'images': save with np.savez(images=...)")
    images, labels = arrays["images"], arrays.get("labels")
    if not images.size:
        raise ValueError(f"{path}: images of shape {images.shape} are empty: save at least one")
    _check_values(images, path)
    images = _channels_first(images, labels, path)
    return images, _checked_labels(labels, len(images), path)


def _read(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays `images` and `labels`, those which are there; pickled objects are not read."""
    arrays = {}
    too_large = ""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename: info for info in archive.infolist()}
            for name in ("images", "labels"):
                info = members.get(f"{name}.npy")
                if info is not None and info.file_size > MOST_BYTES:
                    too_large = name
                elif info is not None:
                    with archive.open(info) as stream:
                        arrays[name] = np.lib.format.read_array(stream, allow_pickle=False)
    except Exception as error:  # zipfile, zlib and numpy raise errors of many unrelated classes
        raise ValueError(
            f"{path} cannot be read as an .npz of plain arrays ({reason(error)}): save it again"
        ) from None
    if too_large:
        raise ValueError(
            f"{path}: array {too_large!r} is larger than {MOST_BYTES >> 20} MiB: split the file"
        )
    return arrays


def _check_values(images: NDArray[Any], path: Path) -> None:
    """Refuse what is not uint8, nor float within [0, 1]."""
    if images.dtype == np.uint8:
        return
    if images.dtype.kind != "f":
        raise ValueError(
            f"{path}: images are {images.dtype}: save them as uint8, or as float in [0, 1]"
        )
    low, high = float(images.min()), float(images.max())
    if np.isnan(low):
        raise ValueError(f"{path}: images hold NaN: every value must lie in [0, 1]")
    if low < 0 or high > 1:
        hint = (
            "did you mean to divide by 255?"
            if low >= 0
            else "undo the normalisation, it is a part of the network"
        )
        raise ValueError(f"{path}: images run from {low} to {high}, not within [0, 1] ({hint})")


def _channels_first(images: NDArray[Any], labels: NDArray[Any] | None, path: Path) -> NDArray[Any]:
    """The images as (N, C, H, W)."""
    shape = images.shape
    if images.ndim == 3:
        alike_colour = shape[0] == 3 or shape[2] in _CHANNELS
        if alike_colour and (labels is None or labels.shape != shape[:1]):
            raise ValueError(
                f"{path}: images of shape {shape} are {shape[0]} grey images or one colour image: "
                f"add {shape[0]} labels or the missing axis"
            )
        return images[:, None]
    if images.ndim != 4:
        raise ValueError(
            f"{path}: images have shape {shape}: use (N, C, H, W), (N, H, W, C) or (N, H, W)"
        )
    first, last = shape[1] in _CHANNELS, shape[3] in _CHANNELS
    if first and last:
        raise ValueError(
            f"{path}: images of shape {shape} could be (N, C, H, W) or (N, H, W, C): "
            "save grey images as (N, H, W), or pad them to more than 3 columns"
        )
    if not first and not last:
        raise ValueError(
            f"{path}: images of shape {shape} have no channel axis of size 1 or 3: "
            "use (N, C, H, W), (N, H, W, C) or (N, H, W)"
        )
    return images if first else np.moveaxis(images, 3, 1)


def _checked_labels(labels: NDArray[Any] | None, count: int, path: Path) -> NDArray[np.int64]:
    """The labels as int64, or -1 for each image."""
    if labels is None:
        return np.full(count, -1, np.int64)
    if labels.shape != (count,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{path}: labels are {labels.dtype} of shape {labels.shape}: "
            f"save {count} integers, shape ({count},), one for each image"
        )
    if labels.min() < -1 or labels.max() > np.iinfo(np.int64).max:
        raise ValueError(
            f"{path}: labels run from {labels.min()} to {labels.max()}: "
            "classes are counted from 0, and -1 stands for no label"
        )
    return labels.astype(np.int64)
