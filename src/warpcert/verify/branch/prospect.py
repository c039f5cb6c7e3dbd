"""Prospect: whether a longer search should close a node."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.core.shapes import Bool, Float, Int

STALLED = 0.02
"""A node that has won less than this part of its gap is told apart from others."""

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
    """How often a search has closed nodes: by powers of two of their gaps, and by whether they had
    won anything before.

    It is made for nodes of which it has closed as large a part as ``least``; at first for all. A
    heuristic: whichever nodes are searched for, and however long, their bounds are proved.
    """

    def __init__(self, least: float, device: torch.device) -> None:
        self.least, self.rounds = least, 0
        self.tries = torch.ones(2 * (MOST - LEAST + 1), device=device)
        self.wins = torch.ones_like(self.tries)

    def worth(self, bounds: Float[Tensor, " N"], before: Float[Tensor, " N"]) -> Bool[Tensor, " N"]:
        """Which nodes to search for, by their bounds now and before the last search."""
        self.rounds += 1
        worth = (self.wins / self.tries)[_kind(bounds, before)] >= self.least
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
        closed: Bool[Tensor, " N"],
    ) -> None:
        """Enter what came of a search for nodes with such bounds."""
        kind = _kind(bounds, before)
        tries = torch.bincount(kind, minlength=len(self.tries)).to(self.tries)
        wins = torch.bincount(kind[closed], minlength=len(self.wins)).to(self.wins)
        fade = torch.where(tries > 0, FADE, 1.0)
        self.tries, self.wins = fade * self.tries + tries, fade * self.wins + wins


def _kind(bounds: Float[Tensor, " N"], before: Float[Tensor, " N"]) -> Int[Tensor, " N"]:
    """A number for the power of two that a gap is, and for whether anything was won."""
    gap = (-bounds).nan_to_num(nan=torch.inf).clamp(2.0 ** (LEAST - 1), 2.0 ** (MOST - 1))
    power = torch.frexp(gap).exponent.long() - LEAST
    stalled = bounds - before < STALLED * gap  # false for NaN
    return 2 * power + stalled.long()
