"""BatchNorm: batch normalisation that gives away its affine map."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from warpcert.core.shapes import Float

FLOOR = 1e-5
"""Is added to every variance, as torch does by default."""


class BatchNorm(nn.BatchNorm2d):
    """`torch.nn.BatchNorm2d`, and `affine_map`: what it does to a channel, as slope and shift."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, FLOOR)

    def affine_map(
        self, clean: Float[Tensor, "B C H W"], moving: bool = True
    ) -> tuple[Float[Tensor, "C 1 1"], Float[Tensor, "C 1 1"]]:
        """Slope and shift of each channel, (C, 1, 1), for a batch whose clean values are given.

        In training mode they come from the clean values, which also move the running averages
        unless ``moving`` is off (to ask for the same map again); in eval mode from those
        averages. Either way the map is fixed before it meets a box, which makes it affine.
        """
        mean, variance = self._statistics(clean, moving)
        slope = self.weight * torch.rsqrt(variance + FLOOR)
        return slope[:, None, None], (self.bias - mean * slope)[:, None, None]

    def _statistics(self, clean: Tensor, moving: bool) -> tuple[Tensor, Tensor]:
        """Mean and variance (C,) to normalise with."""
        assert self.running_mean is not None and self.running_var is not None
        if not self.training:
            return self.running_mean, self.running_var
        variance, mean = torch.var_mean(clean, dim=(0, 2, 3), correction=0)
        if not moving:
            return mean, variance
        count = clean.numel() // clean.shape[1]
        with torch.no_grad():
            step = 0.1 if self.momentum is None else self.momentum
            self.running_mean.lerp_(mean, step)
            self.running_var.lerp_(variance * (count / max(count - 1, 1)), step)
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
        return mean, variance
