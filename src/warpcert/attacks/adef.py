"""ADef: the smallest smooth deformation that a linear approximation calls for."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.attacks.axes import blur, image_axes
from warpcert.attacks.base import Attack
from warpcert.attacks.chase import Chase, Found


@dataclass(frozen=True)
class ADef(Attack):
    """Alaifari, Alberti and Gauksson, "ADef" (2019), brought into the set at the end.

    For each of the label's ``targets`` nearest rivals, steps of the least field, in the Euclidean
    norm before smoothing, at which the margin's linear approximation is below zero by a share
    ``overshoot``: with slopes g and a Gaussian S of width ``sigma`` it is -m S g / <g, S g>. An
    image that is past the boundary stays; so does one after ``steps``. Unlike there, fields are
    added up and bend the first image, so that what is found is one field.
    """

    steps: int = 30
    targets: int = 3
    sigma: float = 0.5
    overshoot: float = 0.2

    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        del generator  # nothing is random
        rivals = chase.rivals(start.parameters, self.targets)
        starts = torch.stack([start.parameters] * rivals.shape[1], dim=1)
        return start.better(chase.each(starts, self._descend, rivals))

    def _descend(self, chase: Chase, v: Tensor) -> Found:
        axes = image_axes(chase, v)
        shape = (-1,) + (1,) * (v.dim() - 1)
        for _ in range(self.steps):
            _, goals, slopes = chase.slope(v)
            smooth = blur(slopes, axes, self.sigma)
            steep = (slopes * smooth).flatten(1).sum(1)
            size = (1 + self.overshoot) * goals / steep
            size = torch.where((goals > 0) & (steep > 0), size, 0.0).nan_to_num(0.0, 0.0, 0.0)
            v = v - size.view(shape) * smooth
        return chase.found(v)
