"""Box: all images between two."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.checks import check_rows
from warpcert.core.inputset import InputSet
from warpcert.core.interval import Interval
from warpcert.core.shapes import Float


@dataclass(frozen=True, eq=False)
class Box(InputSet):
    """The images (B, C, H, W) in an interval: the L-inf threat, say."""

    interval: Interval

    @property
    def box(self) -> Interval:
        """The interval itself."""
        return self.interval

    def minimise(self, rows: Tensor) -> Float[Tensor, "B R"]:
        """Take the lower end where a row is positive, the upper where it is negative.

        Sound, because each term of the sum is then least; the rounding of the sum is taken off.
        """
        check_rows(rows, self.interval.lower)
        a = rows.to(torch.float64)
        low, high = (x[:, None].to(a) for x in (self.interval.lower, self.interval.upper))
        terms = torch.where(a > 0, a * low, a * high)
        size = (a.abs() * torch.maximum(low.abs(), high.abs())).detach().sum((2, 3, 4))
        bound = terms.sum((2, 3, 4)) - rounding.summation(terms[0, 0].numel()) * size
        through = (bound - bound.detach()).nan_to_num(0.0)  # zero, but for the gradient
        return rounding.down(bound.detach(), rows.dtype) + through.to(rows.dtype)

    def realise(self, v: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C H W"]:
        """The images themselves."""
        return v

    def project(self, v: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C H W"]:
        """The nearest images in the box."""
        return torch.clamp(v, self.interval.lower, self.interval.upper)
