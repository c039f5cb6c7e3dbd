"""Residual: the block of a residual network."""

from __future__ import annotations

from torch import Tensor, nn

from warpcert.core.shapes import Float
from warpcert.train.batchnorm import BatchNorm


class Residual(nn.Module):
    """``body(x) + skip(x)``: two normalised 3x3 convolutions beside a short cut.

    ``body`` has a ReLU in its middle; the ReLU after the sum is left to what follows. ``skip`` is
    the identity where the shapes agree, else a normalised 1x1 convolution of the same stride.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            BatchNorm(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            BatchNorm(outputs),
        )
        same = inputs == outputs and stride == 1
        self.skip = (
            nn.Sequential()
            if same
            else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, 0, bias=False), BatchNorm(outputs)
            )
        )

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B D I J"]:
        """The sum (B, outputs, H / stride, W / stride)."""
        return self.body(x) + self.skip(x)
