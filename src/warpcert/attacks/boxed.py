"""ThroughBox: attack the box, then find out how its image is reached."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.attacks.base import Attack
from warpcert.attacks.chase import Chase, Found
from warpcert.core.box import Box

HALVINGS = 30
"""Steps of a bisection: float32 has no finer numbers."""


@dataclass(frozen=True)
class ThroughBox(Attack):
    """For sets that are their box (one channel, free neighbours): as strong as ``attack`` on it.

    A field's pixels do not see each other there, so the image found in the box is reached one
    by one: on the way from where a pixel is lowest to where it is highest it takes every value in
    between. It begins in the middle of the box or, ``onwards``, at the best image that was found
    before. Of other sets nothing is searched.
    """

    attack: Attack
    onwards: bool = False

    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        if not chase.inputs.boxed or isinstance(chase.inputs, Box):
            return start
        box = chase.inputs.box
        hunt = Chase(chase.network, Box(box), chase.labels)
        if self.onwards:
            first = hunt.inputs.project(chase.inputs.realise(start.parameters))
        else:
            first = hunt.inputs.sample(1)[:, 0]
        begin = hunt.found(first)
        found = begin.better(self.attack.search(hunt, begin, generator))
        fields = reach(chase, found.parameters).to(start.parameters.dtype)
        return start.better(chase.found(fields))


def reach(chase: Chase, images: Tensor) -> Tensor:
    """Fields (B, H, W, 2) that lead to images (B, 1, H, W) of the box, by bisection."""
    up = torch.ones_like(images)
    low, high = chase.inputs.minimiser(up), chase.inputs.minimiser(-up)
    for _ in range(HALVINGS):
        middle = low / 2 + high / 2
        above = (chase.inputs.realise(middle) > images).movedim(1, -1)
        low, high = torch.where(above, low, middle), torch.where(above, middle, high)
    return low / 2 + high / 2
