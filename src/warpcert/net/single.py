"""Single and Alone: affine maps of one input, and those that treat its entries one by one."""

from __future__ import annotations

from warpcert.net.affine import Affine, Shape


class Single(Affine):
    """A map of one input of the shape ``input``."""

    input: Shape

    @property
    def inputs(self) -> tuple[Shape, ...]:
        return (self.input,)


class Alone(Single):
    """Every entry of the output comes from one entry of the input at most, and no two from one."""

    @property
    def fan_in(self) -> int:
        return 1

    @property
    def fan_out(self) -> int:
        return 1
