"""warp: bend images by displacement fields."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.core.checks import check_fields, check_floats


def warp(images: Tensor, fields: Tensor) -> Tensor:
    """Move every pixel's point of view: the one definition of bending, used by every engine.

    images (B, C, H, W), fields (B, H, W, 2) holding (dx, dy) in pixels -> (B, C, H, W), where
    entry [c, i, j] is the bilinear interpolation of channel c at row i + dy, column j + dx, with
    coordinates clamped to the image. A batch of one is repeated to match the other. Gradients
    flow to both arguments; on a grid line the field's gradient is that of the cell behind it.

    The displacement is split into whole and fractional part before the pixel's own coordinate is
    added, so the weights are as accurate far from the corner as near it and integer displacements
    are exact; clamping the two grid coordinates around a point equals clamping the point.
    """
    check_floats("images", images, "B C H W")
    check_fields(fields, (images.shape[2], images.shape[3]))
    if len({1, images.shape[0], fields.shape[0]}) > 2:
        raise ValueError(
            f"images and fields must be of one batch size, or one of them of size 1, "
            f"got {images.shape[0]} and {fields.shape[0]}"
        )
    if images.dtype != fields.dtype:
        dtype = torch.promote_types(images.dtype, fields.dtype)
        images, fields = images.to(dtype), fields.to(dtype)
    _, channels, height, width = images.shape
    left, right, s = _neighbours(fields[..., 0], torch.arange(width, device=fields.device), width)
    rows = torch.arange(height, device=fields.device)[:, None]
    top, bottom, t = _neighbours(fields[..., 1], rows, height)
    batch = max(images.shape[0], fields.shape[0])
    flat = images.flatten(2).expand(batch, -1, -1)

    def at(row: Tensor, column: Tensor) -> Tensor:
        index = (row * width + column).flatten(1)[:, None].expand(batch, channels, -1)
        return flat.gather(2, index).view(batch, channels, height, width)

    above = torch.lerp(at(top, left), at(top, right), s[:, None])
    below = torch.lerp(at(bottom, left), at(bottom, right), s[:, None])
    return torch.lerp(above, below, t[:, None])


def _neighbours(shift: Tensor, here: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """The grid coordinates on both sides of here + shift, clamped, and the fraction between."""
    whole = torch.floor(shift.detach())
    first = here + whole.clamp(-length, length).long()
    return first.clamp(0, length - 1), (first + 1).clamp(0, length - 1), shift - whole
