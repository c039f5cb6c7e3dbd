"""LeakyRelu: two slopes that meet at zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from warpcert.net.hinge import Hinge


@dataclass(frozen=True)
class LeakyRelu(Hinge):
    """x where it is positive, ``slope`` times x elsewhere.

    Convex for slopes below 1 and concave above: the chord lies above in the first case and
    below in the second; on the other side the branch that leaves the smaller area.
    """

    slope: float = 0.01
    noise: ClassVar[int] = 1

    @property
    def sides(self) -> tuple[float, float]:
        return (self.slope, 1.0)

    def __call__(self, x: Tensor) -> Tensor:
        return torch.where(x > 0, x, self.slope * x)

    def slopes(self, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        branch = torch.where(upper > -lower, 1.0, torch.full_like(lower, self.slope))
        branch = torch.where(upper <= 0, self.slope, torch.where(lower >= 0, 1.0, branch))
        chord = self.chord_across(lower, upper, branch)
        return (branch, chord) if self.slope <= 1 else (chord, branch)
