"""`load_image`: a bundled image, enlarged where a larger one is wanted."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from warpcert.data import load_images

LEVELS = 255


def load_image(spec: str, side: int | None = None) -> Tensor:
    """One image (1, C, H, W), float32; with `side` enlarged to a square of so many pixels.

    Enlarging is bicubic, from edge to edge, and its values are those of bytes again, as in a
    photograph of that size. What it lacks are a photograph's finest details.
    """
    images, _ = load_images(spec)
    if len(images) != 1:
        raise ValueError(f"{spec} names {len(images)} images: name one")
    if side is None:
        return images
    large = F.interpolate(images, size=(side, side), mode="bicubic", align_corners=True)
    return torch.round(large.clamp(0, 1) * LEVELS) / LEVELS


def tell_origin(spec: str, side: int | None) -> str:
    """How an image came about, in words."""
    return spec if side is None else f"{spec} enlarged to {side} x {side} pixels"
