"""Gallery: the images of a task."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import final

import numpy as np
from torch import Tensor

from warpcert.data import parse_spec


@final
@dataclass(frozen=True, eq=False)
class Gallery:
    """Images (N, C, H, W) with labels (N,), their indices in the data set or file, and names."""

    spec: str
    images: Tensor
    labels: Tensor
    indices: tuple[int, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together, and an image that is named twice."""
        counts = {len(part) for part in (self.images, self.labels, self.indices, self.names)}
        if len(counts) != 1:
            raise ValueError(f"images, labels, indices and names are not equally many: {counts}")
        seen: set[int] = set()
        for index in self.indices:
            if index in seen:
                raise ValueError(f"{self.spec} names image {index} twice: name it once")
            seen.add(index)

    @staticmethod
    def of(spec: str, images: Tensor, labels: Tensor) -> Gallery:
        """What `load_images(spec)` has returned."""
        count = len(labels)
        return Gallery(spec, images, labels, find_indices(spec, count), name_each(spec, count))

    @property
    def sha256(self) -> str:
        """The hash of pixels, labels and indices."""
        found = hashlib.sha256(repr(tuple(self.images.shape)).encode())
        found.update(self.images.cpu().contiguous().numpy().astype("<f4").tobytes())
        for numbers in (self.labels.cpu().numpy(), np.array(self.indices)):
            found.update(numbers.astype("<i8").tobytes())
        return found.hexdigest()


def find_indices(spec: str, count: int) -> tuple[int, ...]:
    """The index of every image of a spec: in its data set, or else in its file."""
    try:
        return parse_spec(spec).indices
    except ValueError:  # a path
        return tuple(range(count))


def name_each(spec: str, count: int) -> tuple[str, ...]:
    """What every image of a spec is called: a spec of its own where it has one."""
    try:
        return parse_spec(spec).names
    except ValueError:
        return (spec,) if count == 1 else tuple(f"{spec}[{k}]" for k in range(count))
