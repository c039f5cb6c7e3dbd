"""Scale: every entry times a number plus a number."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from warpcert.core.shapes import Float
from warpcert.net.affine import Shape
from warpcert.net.single import Alone


@dataclass(frozen=True, eq=False)
class Scale(Alone):
    """weight * x + bias, entry by entry: constants, batch normalisation, mean and deviation.

    ``weight`` and ``bias`` have as many axes as the input, each as long as the input's or 1.
    """

    weight: Float[Tensor, "..."]
    bias: Float[Tensor, "..."] | None
    input: Shape

    def __post_init__(self) -> None:
        """Refuse numbers that would change the shape."""
        for numbers in (self.weight, self.bias):
            if numbers is None:
                continue
            fits = numbers.dim() == len(self.input) and all(
                n in (1, m) for n, m in zip(numbers.shape, self.input, strict=True)
            )
            if not fits:
                shape = tuple(numbers.shape)
                raise ValueError(f"numbers {shape} do not fit an input {self.input}")

    @property
    def shape(self) -> Shape:
        return self.input

    @property
    def offset(self) -> Tensor | None:
        return self.bias

    def linear(self, *inputs: Tensor) -> Tensor:
        (x,) = inputs
        return x * self.weight

    def spread(self, *radii: Tensor) -> Tensor:
        (r,) = radii
        return r * self.weight.abs()

    def adjoint(self, rows: Tensor) -> tuple[Tensor, ...]:
        return (rows * self.weight,)
