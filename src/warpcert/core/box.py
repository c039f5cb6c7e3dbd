"""Box: all images between two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Generator, Tensor

from warpcert.core import rounding
from warpcert.core.checks import check_rows
from warpcert.core.inputset import InputSet, Minimum
from warpcert.core.interval import Interval
from warpcert.core.polytope import Polytope, Rows
from warpcert.core.shapes import Bool, Float


@dataclass(frozen=True, eq=False)
class Box(InputSet):
    """The images (B, C, H, W) in an interval: the L-inf threat, say."""

    interval: Interval

    @property
    def box(self) -> Interval:
        """The interval itself."""
        return self.interval

    @property
    def boxed(self) -> bool:
        """It is its box."""
        return True

    @property
    def searches(self) -> bool:
        """The minimum has a formula."""
        return False

    def minimise(
        self, rows: Tensor, warm: Tensor | None = None, steps: int | None = None
    ) -> Minimum:
        """Take the lower end where a row is positive, the upper where it is negative.

        Sound, because each term of the sum is then least; the rounding of the sum is taken off.
        """
        del warm, steps  # there is nothing to search for
        check_rows(rows, self.interval.lower)
        a = rows.to(torch.float64)
        low, high = (x[:, None].to(a) for x in (self.interval.lower, self.interval.upper))
        terms = torch.where(a > 0, a * low, a * high)
        size = (a.abs() * torch.maximum(low.abs(), high.abs())).detach().sum((2, 3, 4))
        lost = rounding.summation(terms[0, 0].numel()) * size + rounding.FAINT
        bound = terms.sum((2, 3, 4)) - torch.where((a == 0).flatten(2).all(2), 0.0, lost)
        through = (bound - bound.detach()).nan_to_num(0.0)  # zero, but for the gradient
        return Minimum(rounding.down(bound.detach(), rows.dtype) + through.to(rows.dtype))

    def select(self, images: Tensor) -> Box:
        """The boxes of some images."""
        return Box(Interval(self.interval.lower[images], self.interval.upper[images]))

    def realise(self, v: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C H W"]:
        """The images themselves."""
        return v

    def project(self, v: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C H W"]:
        """The nearest images in the box."""
        return torch.clamp(v, self.interval.lower, self.interval.upper)

    def contains(self, v: Float[Tensor, "B C H W"]) -> Bool[Tensor, " B"]:
        """Between the ends, every entry."""
        return self.interval.contains(v).flatten(1).all(1)

    def sample(self, n: int, generator: Generator | None = None) -> Float[Tensor, "B {n} C H W"]:
        """The middle and the two ends, then in turns corners and anything in between."""
        low, high = self.interval.lower[:, None], self.interval.upper[:, None]
        plain = torch.tensor([0.5, 0.0, 1.0])[:n, None, None, None].expand(-1, *low.shape[2:])
        others = torch.rand((n - len(plain), *low.shape[2:]), generator=generator)
        others[::2] = others[::2].round()
        share = torch.cat([plain, others]).to(low)
        return torch.clamp(low + share * (high - low), low, high)

    def steepest(self, slopes: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C H W"]:
        """The corner where the sum is least; the middle where a slope is zero."""
        low, high = self.interval.lower, self.interval.upper
        return torch.where(slopes > 0, low, torch.where(slopes < 0, high, low / 2 + high / 2))

    def minimiser(
        self, rows: Float[Tensor, "B C H W"], steps: int | None = None
    ) -> Float[Tensor, "B C H W"]:
        """The same: a member is its own parameters."""
        del steps
        return self.steepest(rows)

    def polytope(self) -> list[Polytope]:
        """The ends of each entry, and no rows."""
        lower, upper = (
            x.detach().to("cpu", torch.float64).numpy()
            for x in (self.interval.lower, self.interval.upper)
        )
        entries = np.arange(lower[0].size).reshape(lower.shape[1:])
        return [
            Polytope(low.ravel(), high.ravel(), Rows.of([]), entries, entries)
            for low, high in zip(lower, upper, strict=True)
        ]
