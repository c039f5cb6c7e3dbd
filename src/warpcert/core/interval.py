"""Interval: a box, as two tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.core.errors import Unsound


@dataclass(frozen=True, eq=False)
class Interval:
    """All arrays between ``lower`` and ``upper``, both of one shape, ends included."""

    lower: Tensor
    upper: Tensor

    def __post_init__(self) -> None:
        """Refuse an empty interval: NaN or lower > upper is a defect of whoever made it."""
        if self.lower.shape != self.upper.shape:
            raise Unsound(f"interval of shapes {self.lower.shape} and {self.upper.shape}")
        if not bool((self.lower <= self.upper).all()):
            raise Unsound("an interval's lower end is above its upper end, or NaN")

    @property
    def width(self) -> Tensor:
        """Upper minus lower end."""
        return self.upper - self.lower

    @property
    def magnitude(self) -> Tensor:
        """The largest |x| of every entry."""
        return torch.maximum(self.lower.abs(), self.upper.abs())

    def contains(self, x: Tensor) -> Tensor:
        """Say for every entry whether it lies between the ends; NaN does not."""
        return (self.lower <= x) & (x <= self.upper)
