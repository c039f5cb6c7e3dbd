"""Attack: a way to search for a member of an input set that changes the label."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from warpcert.attacks.arithmetic import full_precision
from warpcert.attacks.attacked import Attacked
from warpcert.attacks.chase import Chase, Found
from warpcert.attacks.check import check
from warpcert.core.inputset import InputSet
from warpcert.core.shapes import Int
from warpcert.net import Network

SEED = 0
"""Of attacks for which no generator is given."""


class Attack(ABC):
    """Hyper-parameters are in the object, data in the call.

    The search runs in float32. What it hands out is tested in float64 (see `check`): attacks do
    not decide themselves whether they have succeeded.
    """

    def __call__(
        self,
        network: Network,
        inputs: InputSet,
        labels: Int[Tensor, " B"],
        generator: torch.Generator | None = None,
    ) -> Attacked:
        """Search the set of each image for a member with a low margin.

        The same generator state (by default that of a new one seeded by `SEED`) finds the same,
        and the same for an image whether it comes alone or with others, up to rounding in float32.
        """
        if generator is None:
            generator = torch.Generator().manual_seed(SEED)
        labels = labels.to(device=network.device, dtype=torch.int64)
        chase = Chase(network.to(dtype=torch.float32), inputs, labels)
        with full_precision():
            start = chase.found(inputs.sample(1, generator)[:, 0].to(torch.float32))
            found = start.better(self.search(chase, start, generator))
        return check(network, inputs, labels, found.parameters, found.margins)

    @abstractmethod
    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        """For each image parameters of a member, and their margin; ``start`` is a member already.

        Parameters are float32 and must be in the set as they are stored.
        """
