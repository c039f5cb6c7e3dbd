"""Images to try the geometry on: what they look like is what breaks it."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from warpcert import load_images

KINDS = ("random", "binary", "constant", "quantised", "real")
OVERVIEW = torch.tensor([[0.0, 0.0, 0.5, 1.0]] * 3, dtype=torch.float64)[None, None]
"""The paper's overview example: values 0, 0, 0.5, 1 along x, alike in every row."""


def draw(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def picture(
    kind: str, channels: int, height: int, width: int, seed: int = 0, batch: int = 1
) -> Tensor:
    """Images (batch, channels, height, width) in float64, with values in [0, 1]."""
    shape, generator = (batch, channels, height, width), draw(seed)
    if kind == "random":
        return torch.rand(shape, dtype=torch.float64, generator=generator)
    if kind == "binary":
        return torch.randint(0, 2, shape, generator=generator).to(torch.float64)
    if kind == "constant":
        return torch.rand((), dtype=torch.float64, generator=generator).expand(shape).clone()
    if kind == "quantised":
        return torch.randint(0, 256, shape, generator=generator).to(torch.float64) / 255
    assert kind == "real", kind
    whole = _photographs("mnist:0-9" if channels == 1 else "cifar10:0-9")
    top, left = ((whole.shape[axis] - side) // 2 for axis, side in ((2, height), (3, width)))
    chosen = whole[[(seed + k) % len(whole) for k in range(batch)], :channels]
    return chosen[:, :, top : top + height, left : left + width].to(torch.float64)


@cache
def _photographs(spec: str) -> Tensor:
    return load_images(spec)[0]
