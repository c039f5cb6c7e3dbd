"""Surroundings: which box around each image a network is trained for, and what lies in it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from warpcert.core.interval import Interval
from warpcert.core.shapes import Float
from warpcert.flow import Threat, pixel_bounds, warp
from warpcert.flow.project import shorten

Ends = tuple[Tensor, Tensor]


class Surroundings(ABC):
    """A threat to images (B, C, H, W), of which ``strength`` says how much is in force.

    ``strength`` goes from 0 (the image alone) to 1 (the whole threat) while training warms up.
    A member of the threat is an image and *moves*: numbers in a unit ball, whatever the strength.
    """

    @abstractmethod
    def __call__(self, images: Tensor, strength: float | Tensor = 1.0) -> Ends:
        """Lower and upper ends of a box that holds all members, (B, C, H, W)."""

    @abstractmethod
    def interval(self, images: Tensor) -> Interval:
        """The same box at full strength, with every rounding outwards: for proofs."""

    @abstractmethod
    def moves_shape(self, images: Tensor) -> tuple[int, ...]:
        """The shape of the moves of images."""

    @abstractmethod
    def limit(self, moves: Tensor) -> Tensor:
        """The nearest moves in the unit ball."""

    @abstractmethod
    def member(self, images: Tensor, moves: Tensor, strength: float | Tensor = 1.0) -> Tensor:
        """The images after moves of the unit ball; gradients flow to the moves."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The threat in words."""

    @property
    def recordable(self) -> bool:
        """Whether a GPU can do all of it without asking the host: see `Recorded`."""
        return True


@dataclass(frozen=True)
class Ball(Surroundings):
    """Images whose pixels differ by at most ``radius``, within [0, 1]."""

    radius: float

    def __post_init__(self) -> None:
        if not 0 <= self.radius <= 1:
            raise ValueError(f"radius must be between 0 and 1, got {self.radius}")

    def __call__(
        self, images: Float[Tensor, "B C H W"], strength: float | Tensor = 1.0
    ) -> tuple[Float[Tensor, "B C H W"], Float[Tensor, "B C H W"]]:
        """Lower and upper ends of the ball, cut to [0, 1]."""
        reach = self.radius * strength
        return (images - reach).clamp(min=0), (images + reach).clamp(max=1)

    def interval(self, images: Tensor) -> Interval:
        exact = images.to(torch.float64)
        lower, upper = exact - self.radius, exact + self.radius
        return Interval(
            torch.nextafter(lower, lower - 1).clamp(min=0),
            torch.nextafter(upper, upper + 1).clamp(max=1),
        )

    def moves_shape(self, images: Tensor) -> tuple[int, ...]:
        return tuple(images.shape)

    def limit(self, moves: Tensor) -> Tensor:
        return moves.clamp(-1, 1)

    def member(self, images: Tensor, moves: Tensor, strength: float | Tensor = 1.0) -> Tensor:
        return (images + moves * (self.radius * strength)).clamp(0, 1)

    @property
    def title(self) -> str:
        return f"L-inf, eps {_written(self.radius)}"


@dataclass(frozen=True)
class Bending(Surroundings):
    """Images bent by fields of norm at most ``delta`` at every pixel, neighbours free."""

    norm: float | Literal["1", "2", "inf"]
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "norm", Threat(self.norm, self.delta).norm)

    def __call__(
        self, images: Float[Tensor, "B C H W"], strength: float | Tensor = 1.0
    ) -> tuple[Float[Tensor, "B C H W"], Float[Tensor, "B C H W"]]:
        """The exact interval of every pixel, up to rounding in the images' own type.

        For norm inf a pixel's value is bilinear on each grid cell of its square, so its extrema
        are among the corners of the cells: see `_extremes`. For the others `pixel_bounds` says.
        """
        if self.norm == math.inf:
            return _extremes(images, self.delta, strength)
        found = pixel_bounds(images, Threat(self.norm, self.delta * float(strength)))
        return found.lower, found.upper

    def interval(self, images: Tensor) -> Interval:
        return pixel_bounds(images.to(torch.float64), Threat(self.norm, self.delta))

    def moves_shape(self, images: Tensor) -> tuple[int, ...]:
        return (len(images), *images.shape[2:], 2)

    def limit(self, moves: Tensor) -> Tensor:
        return shorten(moves, float(self.norm), 1.0)

    def member(self, images: Tensor, moves: Tensor, strength: float | Tensor = 1.0) -> Tensor:
        return warp(images, moves * (self.delta * strength))

    @property
    def title(self) -> str:
        return f"T{float(self.norm):g}, delta {self.delta:g}, gamma inf"

    @property
    def recordable(self) -> bool:
        return self.norm == math.inf


@dataclass(frozen=True)
class BentGrey(Bending):
    """The same threat to images of one channel, whose moves are of values instead of pixels.

    With one channel and free neighbours every image of the box is a bent one. A move of -1 or 1
    is the least or greatest value of a pixel. An attack sees further so: the slope along a
    field is zero on the flat side of an edge, and breaks at every grid line.
    """

    def moves_shape(self, images: Tensor) -> tuple[int, ...]:
        if images.shape[1] != 1:
            raise ValueError(f"images of one channel are needed, got {images.shape[1]} channels")
        return tuple(images.shape)

    def limit(self, moves: Tensor) -> Tensor:
        return moves.clamp(-1, 1)

    def member(self, images: Tensor, moves: Tensor, strength: float | Tensor = 1.0) -> Tensor:
        lower, upper = self(images, strength)
        up, down = moves.clamp(min=0) * (upper - images), moves.clamp(max=0) * (images - lower)
        return images + up + down


def _written(radius: float) -> str:
    """A radius as people write it: 0.3, 8/255."""
    text, levels = f"{radius:g}", Fraction(radius).limit_denominator(255)
    return f"{levels}" if len(text) > 6 and float(levels) == radius else text


def _extremes(images: Tensor, delta: float, strength: float | Tensor) -> Ends:
    """Least and greatest value of each pixel over the corners of its square's cells.

    Along an axis they are at the integers within the reach and at its ends: with the reach
    ``delta * strength`` these are all integers up to ``ceil(delta)``, clamped to it. The value at
    s is the sum of all grid values, weighted by ``max(0, 1 - |s - m|)`` at offset m, which needs
    no look at the number s itself: a GPU can be told the strength without asking the host.
    """
    height, width = images.shape[-2:]
    steps = math.ceil(delta)
    grid = torch.arange(-steps, steps + 1, dtype=images.dtype, device=images.device)
    reach = torch.as_tensor(delta * strength, dtype=images.dtype, device=images.device)
    stops = grid.clamp(-reach, reach)
    weights = (1 - (stops[:, None] - grid).abs()).clamp(min=0)  # (stops, offsets)
    framed = F.pad(images, (steps,) * 4, mode="replicate")
    wide = framed.unfold(3, width, 1).movedim(3, 0)  # (offsets, B, C, framed height, W)
    across = [_weigh(row, wide) for row in weights]
    moved = torch.stack(across).unfold(3, height, 1).movedim(3, 0).transpose(-1, -2)
    lower = upper = images
    for row in weights:  # moved: (offsets, stops, B, C, H, W)
        least, greatest = torch.aminmax(_weigh(row, moved), dim=0)
        lower, upper = torch.minimum(lower, least), torch.maximum(upper, greatest)
    return lower, upper


def _weigh(weights: Tensor, values: Tensor) -> Tensor:
    """The sum of values (n, ...), each times its weight (n,), without a matrix product's TF32."""
    total = weights[0] * values[0]
    for weight, value in zip(weights[1:], values[1:], strict=True):
        total = torch.addcmul(total, weight, value)
    return total
