"""Descent: attacks that go down from several starts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.attacks.base import Attack
from warpcert.attacks.chase import Chase, Found
from warpcert.attacks.starts import aim, good_starts


@dataclass(frozen=True)
class Descent(Attack):
    """From each of ``restarts`` starts, the best of ``tries`` members, go down for ``steps``.

    For the label's ``targets`` nearest rivals one after the other or, when that is 0, for whichever
    is nearest at a step.
    """

    steps: int = 50
    restarts: int = 5
    tries: int = 50
    targets: int = 0

    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        starts = good_starts(chase, start, self.restarts, self.tries, generator)
        starts, targets = aim(chase, start, starts, self.targets)
        return start.better(chase.each(starts, self.descend, targets))

    @abstractmethod
    def descend(self, chase: Chase, v: Tensor) -> Found:
        """The best met on the way down from parameters v, brought into the set."""
