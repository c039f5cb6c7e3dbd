"""busy: the rectangle of an image outside which nothing happens."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import pad

from warpcert.core.inputset import Rectangle
from warpcert.core.shapes import Float


def busy(images: Float[Tensor, "B C H W"], delta: float) -> Rectangle:
    """One rectangle for all images, that holds every pixel which a field can change.

    Outside of it every pixel of an image is what the nearest one of the rectangle is: a pixel that
    differs from one of its eight neighbours is in it, so that outside all neighbours are alike,
    and walking straight, then along the edge, to the nearest pixel inside meets no change. It is
    wider than those by as much as others can look into them.
    """
    height, width = images.shape[2:]
    framed = pad(images, (1, 1, 1, 1), mode="replicate")
    differs = torch.zeros(height, width, dtype=torch.bool, device=images.device)
    for i in range(3):
        for j in range(3):
            beside = framed[:, :, i : i + height, j : j + width]
            differs |= (beside != images).flatten(0, 1).any(0)
    more = max(0, math.ceil(delta) - 1)
    top, bottom = _ends(differs.any(1), more)
    left, right = _ends(differs.any(0), more)
    return Rectangle(top, left, bottom - top, right - left)


def _ends(used: Tensor, more: int) -> tuple[int, int]:
    """The first place used and the one after the last, with some more; all if none is."""
    places = used.nonzero().squeeze(1)
    if not len(places):
        return 0, len(used)
    return max(0, int(places[0]) - more), min(len(used), int(places[-1]) + 1 + more)
