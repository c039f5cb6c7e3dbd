"""Sum: several arrays of one shape, each times a number."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from warpcert.net.affine import Affine, Shape


@dataclass(frozen=True, eq=False)
class Sum(Affine):
    """c1 x1 + c2 x2 + ...: residual additions and differences."""

    coefficients: tuple[float, ...]
    shape_of_each: Shape

    @property
    def inputs(self) -> tuple[Shape, ...]:
        return (self.shape_of_each,) * len(self.coefficients)

    @property
    def shape(self) -> Shape:
        return self.shape_of_each

    @property
    def fan_in(self) -> int:
        return len(self.coefficients)

    @property
    def fan_out(self) -> int:
        return 1

    def linear(self, *inputs: Tensor) -> Tensor:
        return _combine(self.coefficients, inputs)

    def spread(self, *radii: Tensor) -> Tensor:
        return _combine(tuple(abs(c) for c in self.coefficients), radii)

    def adjoint(self, rows: Tensor) -> tuple[Tensor, ...]:
        return tuple(rows if c == 1 else c * rows for c in self.coefficients)


def _combine(coefficients: tuple[float, ...], inputs: tuple[Tensor, ...]) -> Tensor:
    terms = [x if c == 1 else c * x for c, x in zip(coefficients, inputs, strict=True)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
