"""augment: photos moved and mirrored at random, on their own device."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from warpcert.core.shapes import Int

MARGIN = 4
"""Pixels of black around a photo, out of which a part of the old size is cut."""


def draw_shifts(count: int, generator: torch.Generator) -> Int[Tensor, "{count} 3"]:
    """How to move and mirror each of so many photos: row, column and 0 or 1, on its device."""
    device = generator.device
    moves = torch.randint(0, 2 * MARGIN + 1, (count, 2), generator=generator, device=device)
    mirrored = torch.randint(0, 2, (count, 1), generator=generator, device=device)
    return torch.cat([moves, mirrored], dim=1)


def augment(images: Tensor, shifts: Int[Tensor, "B 3"]) -> Tensor:
    """Images (B, C, H, W), each shifted by up to `MARGIN` pixels and mirrored half of the time."""
    count, channels, height, width = images.shape
    device = images.device
    across = torch.arange(width, device=device)
    rows = shifts[:, :1] + torch.arange(height, device=device)
    columns = shifts[:, 1:2] + torch.where(shifts[:, 2:] > 0, across.flip(0), across)
    framed = F.pad(images, (MARGIN,) * 4)
    return framed[
        torch.arange(count, device=device)[:, None, None, None],
        torch.arange(channels, device=device)[:, None, None],
        rows[:, None, :, None],
        columns[:, None, None, :],
    ]
