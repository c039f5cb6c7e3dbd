"""Given: a member that somebody else has found, taken up."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.attacks.base import Attack
from warpcert.attacks.boxed import reach
from warpcert.attacks.chase import Chase, Found
from warpcert.core.box import Box


@dataclass(frozen=True, eq=False)
class Given(Attack):
    """Begin at ``parameters`` (B, ...) or, in sets that are their box, at ``images`` (B, C, H, W).

    They may come from a relaxation: they are brought into the sets before they are tried.
    """

    images: Tensor
    parameters: Tensor | None = None

    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        del generator  # nothing is drawn
        best = start
        if self.parameters is not None:
            best = best.better(chase.found(self.parameters.to(start.parameters)))
        if chase.inputs.boxed and not isinstance(chase.inputs, Box):
            fields = reach(chase, self.images.to(start.parameters))
            best = best.better(chase.found(fields.to(start.parameters)))
        return best
