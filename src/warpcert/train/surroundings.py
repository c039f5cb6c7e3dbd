"""Surroundings: which box around each image a network is trained for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import Tensor

from warpcert.core.shapes import Float


@runtime_checkable
class Surroundings(Protocol):
    """From images (B, C, H, W) to the ends of a box around each, of the same shape.

    ``strength`` goes from 0 (the image alone) to 1 (the whole threat) while training warms up.
    The exact pixel bounds of a spatial threat, scaled in delta, are surroundings as well.
    """

    def __call__(self, images: Tensor, strength: float) -> tuple[Tensor, Tensor]:
        """Lower and upper ends, (B, C, H, W)."""
        ...


@dataclass(frozen=True)
class Ball:
    """Images whose pixels differ by at most ``radius``, within [0, 1]."""

    radius: float

    def __post_init__(self) -> None:
        if not 0 <= self.radius <= 1:
            raise ValueError(f"radius must be between 0 and 1, got {self.radius}")

    def __call__(
        self, images: Float[Tensor, "B C H W"], strength: float = 1.0
    ) -> tuple[Float[Tensor, "B C H W"], Float[Tensor, "B C H W"]]:
        """Lower and upper ends of the ball, cut to [0, 1]."""
        reach = self.radius * strength
        return (images - reach).clamp(min=0), (images + reach).clamp(max=1)
