"""What arguments must look like: one clear line for each way they can be wrong."""

from __future__ import annotations

import torch
from torch import Tensor

FLOATS = (torch.float32, torch.float64)


def check_floats(name: str, x: object, axes: str) -> None:
    """Refuse what is not a float32 or float64 tensor with the axes named, e.g. ``"B C H W"``."""
    if not isinstance(x, Tensor):
        raise ValueError(f"{name} must be a torch tensor, got {type(x).__name__}")
    if x.dtype not in FLOATS:
        hint = ": divide by 255 first" if x.dtype == torch.uint8 else ""
        raise ValueError(f"{name} must be float32 or float64, got {_word(x.dtype)}{hint}")
    wanted = axes.split()
    if x.dim() != len(wanted):
        shape = tuple(x.shape)
        raise ValueError(f"{name} must have the shape ({', '.join(wanted)}), got {shape}")
    if not all(x.shape):
        raise ValueError(f"{name} must not be empty, got the shape {tuple(x.shape)}")


def check_images(images: object) -> None:
    """Refuse what is not a batch of images (B, C, H, W) with values in [0, 1]."""
    check_floats("images", images, "B C H W")
    assert isinstance(images, Tensor)
    check_finite("images", images)
    low, high = (float(v) for v in torch.aminmax(images.detach()))
    if low < 0 or high > 1:
        hint = ": divide by 255 first" if high > 2 and low >= 0 else ""
        raise ValueError(f"images must have values in [0, 1], got [{low:g}, {high:g}]{hint}")


def check_finite(name: str, x: Tensor) -> None:
    """Refuse NaN and infinite entries."""
    wrong = int((~torch.isfinite(x.detach())).sum())
    if wrong:
        raise ValueError(f"{name} must be finite, got {wrong} NaN or infinite entries")


def check_fields(fields: object, shape: tuple[int, int] | None = None) -> None:
    """Refuse what is not a batch of displacement fields (B, H, W, 2) for images of that shape."""
    check_floats("fields", fields, "B H W 2")
    assert isinstance(fields, Tensor)
    if fields.shape[-1] != 2:
        raise ValueError(f"fields must end in the axis (dx, dy), got {tuple(fields.shape)}")
    if shape is not None and tuple(fields.shape[1:3]) != shape:
        got = tuple(fields.shape[1:3])
        raise ValueError(f"fields must be as large as the images {shape}, got {got}")


def check_rows(rows: object, images: Tensor) -> None:
    """Refuse rows that do not fit the images."""
    check_floats("rows", rows, "B R C H W")
    assert isinstance(rows, Tensor)
    check_finite("rows", rows)
    if (rows.shape[0], *rows.shape[2:]) != tuple(images.shape):
        raise ValueError(
            f"rows must have the shape (B, R, C, H, W) for images (B, C, H, W) = "
            f"{tuple(images.shape)}, got {tuple(rows.shape)}"
        )
    if rows.device != images.device:
        raise ValueError(f"rows are on {rows.device}, images on {images.device}: move one")


def _word(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
