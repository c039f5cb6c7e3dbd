"""Affine: one of the two kinds of node, x -> W x + b."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from warpcert.core.shapes import Float

Shape = tuple[int, ...]


class Affine(ABC):
    """A map W x + b of one or more inputs; shapes are those of one image, without the batch.

    Implementations are frozen dataclasses that store tensors and numbers, and compute nothing
    before they are called.
    """

    @property
    @abstractmethod
    def inputs(self) -> tuple[Shape, ...]:
        """The shape of each input."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The shape of the output."""

    @property
    def offset(self) -> Float[Tensor, "..."] | None:
        """The constant b, broadcastable to the output's shape; None when it is zero."""
        return None

    @property
    @abstractmethod
    def fan_in(self) -> int:
        """At most so many terms are summed in an entry of W x: what its rounding grows with."""

    @property
    @abstractmethod
    def fan_out(self) -> int:
        """At most so many terms are summed in an entry of W^T a."""

    @abstractmethod
    def linear(self, *inputs: Float[Tensor, "B ..."]) -> Float[Tensor, "B ..."]:
        """W x, without the constant."""

    @abstractmethod
    def spread(self, *radii: Float[Tensor, "B ..."]) -> Float[Tensor, "B ..."]:
        """|W| r: how far W x can be from W c when every |x - c| <= r; attained, hence exact."""

    @abstractmethod
    def adjoint(self, rows: Float[Tensor, "B R ..."]) -> tuple[Float[Tensor, "B R ..."], ...]:
        """W^T a for every row a of the output, one tensor for each input: <a, W x> = <W^T a, x>."""

    def __call__(self, *inputs: Float[Tensor, "B ..."]) -> Float[Tensor, "B ..."]:
        """W x + b."""
        y = self.linear(*inputs)
        return y if self.offset is None else y + self.offset

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Affine:
        """The same map with its tensors moved; whole numbers (indices) keep their type."""
        moved = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                kind = dtype if value.is_floating_point() else None
                moved[field.name] = value.to(device=device, dtype=kind)
        return dataclasses.replace(self, **moved) if moved else self  # type: ignore[type-var]
