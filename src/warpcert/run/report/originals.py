"""`Originals`: the images that rows name, as far as they are on this machine."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpcert.data import load_images, open_shelf, parse_spec

_ONE_OF_FILE = re.compile(r"(.*)\[([0-9]{1,9})\]", re.DOTALL)


class Originals:
    """Images by the names that verdicts have; `data` is a folder with whole data sets.

    Nothing is ever downloaded. Every source is read once.
    """

    def __init__(self, data: Path | None = None) -> None:
        self.data = data
        self._open = lru_cache(maxsize=8)(self._read)

    def find(self, name: str) -> NDArray[np.float32]:
        """The image (C, H, W) in [0, 1]; where it cannot be had, a `ValueError` says why."""
        source, index = _locate(name)
        images = self._open(source)
        if not 0 <= index < len(images):
            raise ValueError(f"{source} has no image {index}")
        image = images[index]
        scale = np.float32(255 if image.dtype == np.uint8 else 1)
        return image.astype(np.float32) / scale

    def _read(self, source: str) -> NDArray[Any]:
        """All images (N, C, H, W) of a file, or of a split of a data set."""
        try:
            chosen = parse_spec(source)
        except ValueError:
            return load_images(Path(source))[0].numpy()
        if chosen.bundled:
            return load_images(source)[0].numpy()
        split = chosen.dataset.splits[chosen.split]
        try:
            return open_shelf(chosen.dataset, self.data).read_split(split)[0]
        except ValueError:
            raise ValueError(f"the whole {chosen.dataset.title} is not on this machine") from None


def _locate(name: str) -> tuple[str, int]:
    """Where an image is, and its place there: a data set, a split of one, or a file."""
    try:
        chosen = parse_spec(name)
    except ValueError:
        part = _ONE_OF_FILE.fullmatch(name)
        file, index = (part[1], int(part[2])) if part else (name, 0)
        if not os.path.isfile(file):  # noqa: PTH113 - Path raises where asking is forbidden
            raise ValueError(f"there is no file {file}") from None
        return file, index
    if len(chosen.indices) != 1:
        raise ValueError(f"{name} names {len(chosen.indices)} images")
    whole = f"{chosen.dataset.name}/{chosen.split}"
    return (chosen.dataset.name if chosen.bundled else whole), chosen.indices[0]
