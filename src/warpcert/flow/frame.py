"""Frame: images with a margin, whole or cut to what each row looks at."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as nn
from torch import Tensor

from warpcert.core.shapes import Float
from warpcert.flow.region import Region
from warpcert.flow.window import Window


@dataclass(frozen=True, eq=False)
class Frame:
    """Images in float64, with ``halo`` pixels more on every side, and the region of each pixel.

    ``folded``: each row has an image of its own, so rows (B, R, ...) become (B R, 1, ...).
    """

    images: Float[Tensor, "N C _ _"]
    region: Region
    halo: int
    folded: bool = False

    @classmethod
    def of(cls, images: Float[Tensor, "B C H W"], region: Region) -> Frame:
        """Whole images; the halo is 0 when a region reaches further than the images' size."""
        reach = math.ceil(region.delta)
        halo = reach if reach < min(images.shape[-2:]) else 0
        exact = images.detach().to(torch.float64)
        framed = nn.pad(exact, (halo,) * 4, mode="replicate") if halo else exact
        if not region.uniform:
            size = images.shape[-2:]
            lower, upper = (x.reshape(-1, 1, *size, 2) for x in (region.lower, region.upper))
            region = Region(region.norm, region.delta, lower, upper)
        return cls(framed, region, halo)

    def cut(self, window: Window) -> Frame:
        """What belongs to each row's rectangle."""
        if not self.halo:
            raise ValueError("images without a margin cannot be cut")
        images = window.cut(self.images.transpose(0, 1), self.halo).movedim(0, 2).flatten(0, 1)
        if self.region.uniform:
            return Frame(images, self.region, self.halo, folded=True)
        ends = (
            window.cut(end[:, 0].movedim(-1, 0)).flatten(1, 2).movedim(0, -1)[:, None]
            for end in (self.region.lower, self.region.upper)
        )
        region = Region(self.region.norm, self.region.delta, *ends)
        return Frame(images, region, self.halo, folded=True)

    def fold(self, x: Tensor) -> Tensor:
        """Rows, or what belongs to them, (B, R, ...) as the images want them."""
        return x.flatten(0, 1)[:, None] if self.folded else x

    def unfold(self, x: Tensor, like: Tensor) -> Tensor:
        """What was found, (B, R, ...) again."""
        return x.reshape(*like.shape[:2], *x.shape[2:])
