"""AveragePool: means over windows."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from warpcert.core.shapes import Float
from warpcert.net.affine import Shape
from warpcert.net.single import Single


@dataclass(frozen=True, eq=False)
class AveragePool(Single):
    """rows @ image @ columns^T for each channel of (C, H, W).

    The weight of a pixel in a window's mean is a product of one number per axis, whatever the
    stride, the padding and the way of counting: two small matrices, (oh, H) and (ow, W), hold
    every kind of average pooling.
    """

    rows: Float[Tensor, "oh H"]
    columns: Float[Tensor, "ow W"]
    input: Shape

    def __post_init__(self) -> None:
        """Refuse matrices that do not fit."""
        if len(self.input) != 3 or self.input[1:] != (self.rows.shape[1], self.columns.shape[1]):
            sizes = tuple(self.rows.shape), tuple(self.columns.shape)
            raise ValueError(f"matrices {sizes} do not fit an input {self.input}")

    @property
    def shape(self) -> Shape:
        return self.input[0], self.rows.shape[0], self.columns.shape[0]

    @property
    def fan_in(self) -> int:
        return self.rows.shape[1] + self.columns.shape[1]

    @property
    def fan_out(self) -> int:
        return self.rows.shape[0] + self.columns.shape[0]

    def linear(self, *inputs: Tensor) -> Tensor:
        (x,) = inputs
        return self.rows @ x @ self.columns.T

    def spread(self, *radii: Tensor) -> Tensor:
        (r,) = radii
        return self.rows.abs() @ r @ self.columns.abs().T

    def adjoint(self, rows: Tensor) -> tuple[Tensor, ...]:
        return (self.rows.T @ rows @ self.columns,)
