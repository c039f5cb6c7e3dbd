"""Search: try many members and keep the best."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from warpcert.attacks.base import Attack
from warpcert.attacks.chase import Chase, Found


@dataclass(frozen=True)
class Search(Attack):
    """``tries`` members of each set: a grid of translations, extreme fields and random ones.

    It uses no gradients, and serves as a cheap first attempt and as a yardstick.
    """

    tries: int = 100

    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        pool = chase.inputs.sample(self.tries, generator).to(start.parameters.dtype)
        best = chase.table(pool).argmin(1)
        images = torch.arange(len(chase), device=best.device)
        return start.better(chase.found(pool[images, best]))
