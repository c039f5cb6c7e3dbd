"""Pad: a frame of one constant around an array."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from warpcert.core.shapes import Float
from warpcert.net.affine import Shape
from warpcert.net.single import Alone


@dataclass(frozen=True, eq=False)
class Pad(Alone):
    """Entries of value ``value`` (a tensor without axes) put before and after along each axis.

    A negative amount cuts entries off.
    """

    value: Float[Tensor, ""]
    amounts: tuple[tuple[int, int], ...]
    input: Shape

    def __post_init__(self) -> None:
        """Refuse amounts that do not fit."""
        fits = len(self.amounts) == len(self.input)
        if not fits or min(self.shape, default=1) < 1 or min(self._kept, default=0) < 0:
            raise ValueError(f"padding {self.amounts} does not fit an input {self.input}")

    @property
    def shape(self) -> Shape:
        return tuple(a + n + b for n, (a, b) in zip(self.input, self.amounts, strict=True))

    @cached_property
    def offset(self) -> Tensor | None:
        if not bool(self.value):
            return None
        inside = F.pad(torch.ones(self.input, dtype=torch.bool), self._flat)
        return torch.where(inside.to(self.value.device), 0 * self.value, self.value)

    def linear(self, *inputs: Tensor) -> Tensor:
        (x,) = inputs
        return F.pad(x, self._flat)

    def spread(self, *radii: Tensor) -> Tensor:
        return self.linear(*radii)

    def adjoint(self, rows: Tensor) -> tuple[Tensor, ...]:
        """Padding by the negated amounts: what was put is cut, what was cut has no weight."""
        return (F.pad(rows, [-n for n in self._flat]),)

    @property
    def _kept(self) -> list[int]:
        """How many entries of the input are left along each axis."""
        pairs = zip(self.input, self.amounts, strict=True)
        return [n + min(a, 0) + min(b, 0) for n, (a, b) in pairs]

    @property
    def _flat(self) -> list[int]:
        """The amounts in the order of `torch.nn.functional.pad`, last axis first."""
        return [n for pair in reversed(self.amounts) for n in pair]
