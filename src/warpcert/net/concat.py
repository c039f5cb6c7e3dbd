"""Concat: arrays side by side."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.net.affine import Affine, Shape


@dataclass(frozen=True, eq=False)
class Concat(Affine):
    """Inputs put one after the other along an axis (0 is the first after the batch)."""

    parts: tuple[Shape, ...]
    axis: int

    def __post_init__(self) -> None:
        """Refuse parts that differ elsewhere than along the axis."""
        rest = {(*part[: self.axis], *part[self.axis + 1 :]) for part in self.parts}
        ranks = {len(part) for part in self.parts}
        if len(rest) != 1 or len(ranks) != 1 or not 0 <= self.axis < min(ranks):
            raise ValueError(f"shapes {self.parts} cannot be joined along axis {self.axis}")

    @property
    def inputs(self) -> tuple[Shape, ...]:
        return self.parts

    @property
    def shape(self) -> Shape:
        joined = list(self.parts[0])
        joined[self.axis] = sum(self._lengths)
        return tuple(joined)

    @property
    def fan_in(self) -> int:
        return 1

    @property
    def fan_out(self) -> int:
        return 1

    def linear(self, *inputs: Tensor) -> Tensor:
        return torch.cat(inputs, dim=1 + self.axis)

    def spread(self, *radii: Tensor) -> Tensor:
        return torch.cat(radii, dim=1 + self.axis)

    def adjoint(self, rows: Tensor) -> tuple[Tensor, ...]:
        return rows.split(self._lengths, dim=2 + self.axis)

    @property
    def _lengths(self) -> list[int]:
        return [part[self.axis] for part in self.parts]
