"""image_axes: which axes of parameters are an image's height and width."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.attacks.chase import Chase


def image_axes(chase: Chase, v: Tensor) -> tuple[int, int]:
    """Those of images (N, C, H, W) or, otherwise, of fields (N, H, W, 2)."""
    return (2, 3) if tuple(v.shape[1:]) == chase.network.input_shape else (1, 2)


def blur(v: Tensor, axes: tuple[int, int], sigma: float) -> Tensor:
    """Smooth along two axes with a Gaussian bell; a linear and symmetric map."""
    for axis in axes:
        here = torch.arange(v.shape[axis], dtype=v.dtype, device=v.device)
        bell = torch.exp(-((here[:, None] - here) ** 2) / (2 * sigma**2))
        v = torch.tensordot(v, bell / bell.sum(1).amax(), dims=([axis], [0])).movedim(-1, axis)
    return v
