"""Normalise: the first layer of a network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from warpcert.core.shapes import Float


class Normalise(nn.Module):
    """``(x - mean) / std`` for each channel; both are buffers, so a weight file has them.

    A new one does nothing (mean 0, std 1); `fit` takes the numbers from training images.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels, 1, 1))
        self.register_buffer("std", torch.ones(channels, 1, 1))

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C H W"]:
        """The images (B, C, H, W) with the training set's mean and spread taken out."""
        return (x - self.mean) / self.std

    def fit(self, images: Float[Tensor, "B C H W"]) -> None:
        """Take mean and standard deviation of each channel from images in [0, 1]."""
        spread, centre = torch.std_mean(images, dim=(0, 2, 3), keepdim=True)
        if not bool((spread > 0).all()):
            raise ValueError("a channel of the images is constant: it has no spread to divide by")
        self.mean.copy_(centre[0])
        self.std.copy_(spread[0])
