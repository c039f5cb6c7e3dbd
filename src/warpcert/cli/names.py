"""`ImageName`: what to call the images that a spec names."""

from __future__ import annotations

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
    from warpcert.data import Selection, parse_spec

    numbers = [None if label < 0 else label for label in labels.tolist()]
    try:
        chosen = parse_spec(spec)
    except ValueError:  # a path, since the images are loaded
        alone = len(numbers) == 1
        return [
            ImageName(spec if alone else f"{spec}[{i}]", n, "" if n is None else f"{n}")
            for i, n in enumerate(numbers)
        ]
    classes = chosen.dataset.classes
    return [
        ImageName(
            str(Selection(chosen.dataset, chosen.split, (i,))), n, "" if n is None else classes[n]
        )
        for i, n in zip(chosen.indices, numbers, strict=True)
    ]
