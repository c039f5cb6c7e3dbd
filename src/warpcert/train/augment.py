"""augment: photos moved and mirrored at random, on their own device."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

MARGIN = 4
"""Pixels of black around a photo, out of which a part of the old size is cut."""


def augment(images: Tensor, generator: torch.Generator) -> Tensor:
    """Images (B, C, H, W), each shifted by up to `MARGIN` pixels and mirrored half of the time."""
    count, channels, height, width = images.shape
    device = images.device
    draw = torch.randint(0, 2 * MARGIN + 1, (2, count, 1), generator=generator, device=device)
    mirrored = torch.rand(count, 1, generator=generator, device=device) < 0.5
    across = torch.arange(width, device=device)
    rows = draw[0] + torch.arange(height, device=device)
    columns = draw[1] + torch.where(mirrored, across.flip(0), across)
    framed = F.pad(images, (MARGIN,) * 4)
    return framed[
        torch.arange(count, device=device)[:, None, None, None],
        torch.arange(channels, device=device)[:, None, None],
        rows[:, None, :, None],
        columns[:, None, None, :],
    ]
