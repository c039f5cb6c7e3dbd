"""Band: two lines around a function on an interval."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from warpcert.core.shapes import Float


@dataclass(frozen=True, eq=False)
class Line:
    """slope * x + intercept, entry by entry."""

    slope: Float[Tensor, "*shape"]
    intercept: Float[Tensor, "*shape"]

    def __call__(self, x: Tensor) -> Tensor:
        """The line's value at x; a line without slope is its intercept, at infinity too."""
        return self.intercept.where(self.slope == 0, self.slope * x + self.intercept)


@dataclass(frozen=True, eq=False)
class Band:
    """below(x) <= f(x) <= above(x) for every x of the interval that the band was made for.

    Slopes are finite. An intercept of -inf below, or inf above, says that nothing is known.
    """

    below: Line
    above: Line
