"""Region: where each pixel may go."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.core.shapes import Float


@dataclass(frozen=True, eq=False)
class Region:
    """Per pixel the displacements (dx, dy) with norm at most ``delta``, cut by a box.

    ``lower`` and ``upper`` are float64 of shape (..., H, W, 2), or (2,) when all pixels share
    one box. The norm is 1, 2 or inf. No pixel's region may be empty.
    """

    norm: float
    delta: float
    lower: Float[Tensor, "*#pixels 2"]
    upper: Float[Tensor, "*#pixels 2"]

    def __post_init__(self) -> None:
        """Refuse an empty region: the point of a box nearest to the origin must be in the ball."""
        nearest = torch.clamp(torch.zeros_like(self.lower), self.lower, self.upper).abs()
        reached = self.in_ball(nearest[..., 0], nearest[..., 1])
        if not bool(((self.lower <= self.upper).all(-1) & reached).all()):
            raise ValueError("a displacement region is empty: its box misses the norm ball")

    def in_ball(self, v: Tensor, w: Tensor) -> Tensor:
        """Whether (v, w), both >= 0, lies in the ball, up to rounding: the one test of that."""
        if self.norm == math.inf:
            return torch.maximum(v, w) <= self.delta
        if self.norm == 1:
            return v + w <= self.delta
        return torch.hypot(v, w) <= self.delta

    @property
    def uniform(self) -> bool:
        """Whether all pixels share one region."""
        return self.lower.dim() == 1

    def to(self, device: torch.device) -> Region:
        """Move to a device; a shared region stays on the CPU, where its numbers are read."""
        if self.uniform:
            return self
        return Region(self.norm, self.delta, self.lower.to(device), self.upper.to(device))

    def shrunk_to(self, height: int, width: int) -> Region:
        """Cut a shared region to displacements within the image's size.

        A displacement that leaves the image gives the same pixel as the one clamped to its
        edge, which is shorter in both components and so stays in ball and box (both hold the
        origin): no pixel value is lost. Only for values, not where displacement itself counts.
        """
        if not self.uniform or not bool(((self.lower <= 0) & (self.upper >= 0)).all()):
            return self
        size = torch.tensor([width - 1, height - 1], dtype=torch.float64)
        return Region(
            self.norm, self.delta, torch.maximum(self.lower, -size), torch.minimum(self.upper, size)
        )

    def window(self, axis: int, length: int) -> tuple[int, int]:
        """First and last grid offset that values come from along an axis (0: x, 1: y).

        Always with the pixel itself, and no further than the image's length: there every pixel
        has left the image.
        """
        low = math.floor(float(self.lower[..., axis].min()))
        high = math.ceil(float(self.upper[..., axis].max()))
        return max(min(low, 0), -length), min(max(high, 0), length)

    def reach(self, axis: int, length: int) -> range:
        """Offsets of the unit cells that a region can touch along an axis (0: x, 1: y).

        Cell m is [m, m + 1]. Beyond the image's length all cells are alike, so the last cell on
        each side stands for everything further out (see `cells`).
        """
        low = max(math.floor(float(self.lower[..., axis].min())), -length)
        high = min(math.ceil(float(self.upper[..., axis].max())), length)
        low = min(low, length - 1)
        return range(low, max(high, low + 1))
