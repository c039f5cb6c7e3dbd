"""`load_images`: images by name or by path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from warpcert.data.bundled import load_bundled
from warpcert.data.dataset import Arrays
from warpcert.data.download import fetch
from warpcert.data.npz import load_npz
from warpcert.data.picture import load_picture
from warpcert.data.selection import Selection, parse_spec
from warpcert.data.shelf import open_shelf

_ARCHIVE = ".npz"
_SUFFIXES = (_ARCHIVE, ".png", ".jpg", ".jpeg")

_LEVELS = np.arange(256, dtype=np.float32) / np.float32(255)
"""The value of every byte: byte / 255, rounded once, in float32."""


def load_images(
    spec: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None
) -> tuple[Tensor, Tensor]:
    """Images (N, C, H, W), float32 in [0, 1], and labels (N,), int64, on the CPU.

    `spec` is one of

    - `"mnist:0-99"`, `"cifar10:3"`, `"fashion:0-9,20"`: images of the test split, by index, ranges
      with both ends included, in the order asked for; `"mnist"` alone is the first 100;
    - `"mnist/train:0-999"`: images of another split; `"mnist/train"` and `"mnist/test"` are whole;
    - a path to an .npz file with the arrays `images` and `labels`: see `load_npz`;
    - a path to a .png, .jpg or .jpeg file, which is one image without a label: see `load_picture`.

    A string is a path if it ends like one; a `Path` always is. A missing label is -1. A byte b
    becomes float32(b) / float32(255), correctly rounded.

    The first 100 test images of each data set come with the package. The others are read from the
    whole data set below `root`, else below the folder named by the environment variable
    WARPCERT_DATA; if neither is given, from the user's cache directory, where they are downloaded
    to when they are not there yet. A named folder is the only place looked at. Anything wrong with
    `spec`, a file or a download is a `ValueError`.
    """
    if not isinstance(spec, (str, os.PathLike)):
        raise ValueError(f"images are named by a string or a path, not by {spec!r}")
    if isinstance(spec, str) and Path(spec).suffix.lower() not in _SUFFIXES:
        images, labels = load_selection(parse_spec(spec), root=root)
    else:
        images, labels = _load_path(Path(os.path.expanduser(spec)))  # noqa: PTH111 - no home, no error
    values = _LEVELS[images] if images.dtype == np.uint8 else images.astype(np.float32)
    return torch.from_numpy(np.ascontiguousarray(values)), torch.from_numpy(labels)


def load_selection(selection: Selection, *, root: str | os.PathLike[str] | None = None) -> Arrays:
    """Images (N, C, H, W) and labels (N,) of a data set, in the order of the indices."""
    if selection.bundled:
        images, labels = load_bundled(selection.dataset)
    else:
        images, labels = _load_split(selection, root)
    indices = list(selection.indices)
    return images[indices], labels[indices]


def _load_split(selection: Selection, root: str | os.PathLike[str] | None) -> Arrays:
    """A whole split, downloaded when it is not in the cache, or damaged there."""
    shelf = open_shelf(selection.dataset, root)
    split = selection.dataset.splits[selection.split]
    try:
        return shelf.read_split(split)
    except ValueError:
        if shelf.named:
            raise
    fetch(selection.dataset)
    return shelf.read_split(split)


def _load_path(path: Path) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Images (N, C, H, W) and labels (N,) of a file."""
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ValueError(f"{path} is of no known kind: use .npz, .png, .jpg or .jpeg")
    if not os.path.isfile(path):  # noqa: PTH113 - Path raises where asking is forbidden
        what = "is a folder" if os.path.isdir(path) else "does not exist"  # noqa: PTH112
        raise ValueError(f"{path} {what}: name a file")
    if suffix == _ARCHIVE:
        return load_npz(path)
    return load_picture(path), np.full(1, -1, np.int64)
