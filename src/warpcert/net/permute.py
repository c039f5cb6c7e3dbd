"""Permute: axes in another order."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from warpcert.net.affine import Shape
from warpcert.net.single import Alone


@dataclass(frozen=True, eq=False)
class Permute(Alone):
    """Axis k of the output is axis ``order[k]`` of the input (0 is the first after the batch)."""

    order: tuple[int, ...]
    input: Shape

    def __post_init__(self) -> None:
        """Refuse what is not a permutation of the axes."""
        if sorted(self.order) != list(range(len(self.input))):
            raise ValueError(f"{self.order} is not an order of the axes of {self.input}")

    @property
    def shape(self) -> Shape:
        return tuple(self.input[axis] for axis in self.order)

    def linear(self, *inputs: Tensor) -> Tensor:
        (x,) = inputs
        return x.permute(0, *(1 + axis for axis in self.order))

    def spread(self, *radii: Tensor) -> Tensor:
        return self.linear(*radii)

    def adjoint(self, rows: Tensor) -> tuple[Tensor, ...]:
        back = sorted(range(len(self.order)), key=self.order.__getitem__)
        return (rows.permute(0, 1, *(2 + axis for axis in back)),)
