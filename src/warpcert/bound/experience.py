"""Experience: what deciding each neuron has gained so far."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.shapes import Float, Int


class Experience:
    """Mean gains of every neuron's two sides, for each of some margins: what it gained elsewhere in
    a tree it is likely to gain again. A heuristic: bounds do not depend on it.
    """

    def __init__(self, margins: int, neurons: int, device: torch.device) -> None:
        self.gains = torch.zeros((margins * neurons, 2), device=device)
        self.times = torch.zeros(margins * neurons, device=device)
        self.neurons = neurons

    def learn(
        self, rows: Int[Tensor, " N"], picks: Int[Tensor, "N K"], gains: Float[Tensor, "N K 2"]
    ) -> None:
        """Enter what deciding neurons for margins should gain, as it was tried."""
        place = (rows[:, None] * self.neurons + picks).flatten()
        real = torch.isfinite(gains).all(-1).flatten()
        place, gains = place[real], gains.flatten(0, 1)[real].clamp(min=0)
        self.gains.index_add_(0, place, gains)
        self.times.index_add_(0, place, torch.ones_like(gains[:, 0]))

    def merit(self, rows: Int[Tensor, " N"], gap: Float[Tensor, "N 1"]) -> Float[Tensor, "N U"]:
        """How much each neuron should bring: the product of both sides' shares of a gap.

        Zero for what was never tried.
        """
        mean = (self.gains / self.times.clamp(min=1)[:, None]).view(-1, self.neurons, 2)[rows]
        shares = (mean / gap[..., None]).clamp(max=1.0) + rounding.FLAT
        return torch.where(
            self.times.view(-1, self.neurons)[rows] > 0, shares[..., 0] * shares[..., 1], 0.0
        )
