"""Prospect: for which nodes a longer search pays."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.core.shapes import Bool, Float, Int

STALLED = 0.02
"""A search that wins less than this part of a gap has won nothing to speak of."""

SHARE = 16
"""One of so many nodes is searched for whatever came of it so far, to learn ..."""

FEW = 4096
"""... where there are so many; else half of them are in one of SHARE / 2 rounds: a search for a
handful of nodes takes a GPU as long as one for thousands."""

FADE = 0.8
"""What earlier searches count for beside the last one."""

LEAST, MOST = -24, 8
"""Powers of two between which gaps are told apart."""


class Prospect:
    """How often a search has closed nodes, and how much it has won otherwise: by powers of two of
    their gaps, and by whether they had won anything before.

    It is made for nodes of which it has closed as large a part as ``least``, or has won as much as
    deciding a neuron does, if that is anything; at first for all. A heuristic: whichever nodes are
    searched for, and however long, their bounds are proved.
    """

    def __init__(self, least: float, device: torch.device) -> None:
        self.least, self.rounds = least, 0
        self.tries = torch.ones(2 * (MOST - LEAST + 1), dtype=torch.float64, device=device)
        self.wins, self.gains = self.tries.clone(), torch.zeros_like(self.tries)
        powers = torch.arange(LEAST - 1, MOST, dtype=torch.float64, device=device)
        self.some = STALLED * torch.exp2(powers).repeat_interleave(2)

    def worth(
        self, bounds: Float[Tensor, " N"], before: Float[Tensor, " N"], usual: float
    ) -> Bool[Tensor, " N"]:
        """Which nodes to search for, by their bounds now and before the last search; ``usual`` is
        what deciding a neuron wins.
        """
        self.rounds += 1
        closes = self.wins >= self.least * self.tries
        gains = self.gains >= self.some.clamp(min=usual) * self.tries
        worth = (closes | gains)[_kind(bounds, before)]
        number = torch.arange(len(bounds), device=bounds.device)
        if len(bounds) >= FEW:
            worth = worth | (number % SHARE == self.rounds % SHARE)
        elif 2 * self.rounds % SHARE == 0:
            worth = worth | (number % 2 == 0)
        return worth & ~(bounds > 0)

    def learn(
        self,
        bounds: Float[Tensor, " N"],
        before: Float[Tensor, " N"],
        after: Float[Tensor, " N"],
    ) -> None:
        """Enter what came of a search for nodes with such bounds."""
        kind, closed = _kind(bounds, before), after > 0
        count = len(self.tries)
        tries = torch.bincount(kind, minlength=count)
        wins = torch.bincount(kind[closed], minlength=count)
        gains = torch.bincount(kind, weights=gained(bounds, after), minlength=count)
        fade = torch.where(tries > 0, FADE, 1.0)
        self.tries, self.wins = fade * self.tries + tries, fade * self.wins + wins
        self.gains = fade * self.gains + gains


def gained(before: Float[Tensor, " N"], after: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """How much of their gaps nodes have won; nothing where that is no number."""
    return (after.clamp(max=0) - before).nan_to_num(0.0, 0.0, 0.0)


def _kind(bounds: Float[Tensor, " N"], before: Float[Tensor, " N"]) -> Int[Tensor, " N"]:
    """A number for the power of two that a gap is, and for whether anything was won."""
    gap = (-bounds).nan_to_num(nan=torch.inf).clamp(2.0 ** (LEAST - 1), 2.0 ** (MOST - 1))
    power = torch.frexp(gap).exponent.long() - LEAST
    stalled = bounds - before < STALLED * gap  # false for NaN
    return 2 * power + stalled.long()
