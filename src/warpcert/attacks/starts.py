"""good_starts: where to begin a search; aim: for whom."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.attacks.chase import Chase, Found


def good_starts(
    chase: Chase, start: Found, count: int, tries: int, generator: torch.Generator
) -> Tensor:
    """Parameters (B, count, ...): those given, then the best of ``tries`` members of each set."""
    first = start.parameters[:, None]
    if count < 2 or tries < 1:
        return first
    pool = chase.inputs.sample(tries, generator).to(first.dtype)
    best = chase.table(pool).argsort(dim=1, stable=True)[:, : count - 1]
    images = torch.arange(len(chase), device=best.device)[:, None]
    return torch.cat([first, pool[images, best]], dim=1)


def aim(chase: Chase, start: Found, starts: Tensor, count: int) -> tuple[Tensor, Tensor | None]:
    """Every start (B, n, ...) for each of the label's ``count`` nearest rivals, and the rivals.

    With a count of 0, the starts as they are, for whichever rival is nearest.
    """
    if not count:
        return starts, None
    rivals = chase.rivals(start.parameters, count)
    targets = rivals.repeat_interleave(starts.shape[1], dim=1)
    return torch.cat([starts] * rivals.shape[1], dim=1), targets
