"""`load_bundled`: the samples that come with the package."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from warpcert.data.dataset import Arrays, Dataset


def load_bundled(dataset: Dataset) -> Arrays:
    """The first test images (100, C, H, W) and labels (100,) of a data set."""
    source = files("warpcert.data") / "samples" / f"{dataset.name}.npz"
    with source.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        return arrays["images"], arrays["labels"].astype(np.int64)
