"""`ImageName`: what to call the images that a spec names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class ImageName:
    """One image: a spec of its own where it has one, its label, and the name of its class."""

    image: str
    label: int | None
    meaning: str

    def __str__(self) -> str:
        return f"{self.image} ({self.meaning})" if self.meaning else self.image


def name_images(spec: str, labels: Tensor) -> list[ImageName]:
    """The names of the images that `load_images(spec)` has returned with these labels (B,)."""
    from warpcert.data import parse_spec
    from warpcert.run.gallery import name_each

    numbers = [None if label < 0 else label for label in labels.tolist()]
    try:
        meanings: Sequence[object] = parse_spec(spec).dataset.classes
    except ValueError:  # a path, since the images are loaded
        meanings = range(1 + max((n for n in numbers if n is not None), default=0))
    return [
        ImageName(name, n, "" if n is None else f"{meanings[n]}")
        for name, n in zip(name_each(spec, len(numbers)), numbers, strict=True)
    ]
