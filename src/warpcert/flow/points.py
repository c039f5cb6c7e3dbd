"""Points: a few displacements of every pixel's region, to search for duals with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.core.shapes import Float, Int
from warpcert.flow.region import Region
from warpcert.flow.warp import warp
from warpcert.flow.window import Window

LINES = 5
"""Grid lines per axis that points are put on, at most: more would be slower, hardly better."""


@dataclass(frozen=True, eq=False)
class Points:
    """K displacements (x, y) and the images bent by each of them.

    ``at`` is (2, K) when all pixels share them, else (2, K, B, 1, H, W), B the number of images or
    1; ``values`` is (K, C, B, 1, H, W). Both are float32: nothing is proved with them.
    """

    at: Tensor
    values: Tensor

    @classmethod
    def of(cls, images: Float[Tensor, "B C H W"], region: Region, rim: int) -> Points:
        """Where grid lines cross each other and the region's ends, and ``rim`` points around it.

        For norm inf these are the corners of all cells, where the minimum of anything bilinear
        is; for the others the curve between the corners counts as well.
        """
        height, width = images.shape[-2:]
        lower, upper = (
            end.reshape(-1, 1, 1, 2) if region.uniform else end.reshape(-1, height, width, 2)
            for end in (region.lower, region.upper)
        )
        columns, rows = (
            _stops(lower[..., axis], upper[..., axis], length)
            for axis, length in ((0, width), (1, height))
        )
        at = torch.stack([torch.stack([x, y], dim=-1) for x in columns for y in rows])
        if region.norm < math.inf:
            at = torch.cat([_within(region, at, 0), _within(region, at, 1), _rim(region, at, rim)])
            at = torch.clamp(at, lower, upper)
        if region.uniform:
            at = at.flatten(0, 3).unique(dim=0)[:, None, None, None]
        at = at.to(device=images.device, dtype=torch.float32)
        whole = images.detach().to(torch.float32)
        values = torch.stack(
            [warp(whole, one.expand(-1, height, width, -1)) for one in at]
        ).transpose(1, 2)
        at = at[:, 0, 0, 0].T if region.uniform else at.permute(4, 0, 1, 2, 3)[:, :, :, None]
        return cls(at, values[:, :, :, None])

    def cut(self, window: Window) -> Points:
        """The points and values that each row's rectangle has: (..., B, R, h, w)."""
        at = self.at if self.shared else window.cut(self.at[:, :, :, 0])
        return Points(at, window.cut(self.values[:, :, :, 0]))

    @property
    def shared(self) -> bool:
        """Whether all pixels have the same points."""
        return self.at.dim() == 2

    def combine(self, rows: Float[Tensor, "B R C h w"]) -> Float[Tensor, "K B R h w"]:
        """The rows' combination of channels at every point."""
        weights = rows.detach().to(torch.float32)
        total = self.values[:, 0] * weights[:, :, 0]
        for channel in range(1, rows.shape[2]):
            total.addcmul_(self.values[:, channel], weights[:, :, channel])
        return total

    def mix(self, weights: Float[Tensor, "K B R h w"]) -> Float[Tensor, "B R C h w"]:
        """The images that weights on the points stand for."""
        channels = [(weights * x).sum(0) for x in self.values.unbind(1)]
        return torch.stack(channels, dim=2)

    def pick(self, where: Int[Tensor, "1 B R h w"]) -> Float[Tensor, "B R C h w"]:
        """The images in which every pixel is at one of its points."""
        batch, rows = where.shape[1:3]
        wide = self.values.expand(-1, -1, batch, rows, -1, -1)
        index = where[:, None].expand(-1, wide.shape[1], -1, -1, -1, -1)
        return wide.gather(0, index)[0].movedim(0, 2)

    def place(self, weights: Float[Tensor, "K B R h w"]) -> Float[Tensor, "B R h w 2"]:
        """The mean displacements that weights on the points stand for."""
        if self.shared:
            return torch.einsum("kbrhw,dk->brhwd", weights, self.at)
        return (weights * self.at).sum(1).movedim(0, -1)


def _stops(lower: Tensor, upper: Tensor, length: int) -> list[Tensor]:
    """The ends of an interval and the integers in between, beyond the image none."""
    low = max(math.floor(float(lower.min())) + 1, -length)
    high = min(math.ceil(float(upper.max())) - 1, length)
    lines = list(range(low, high + 1))
    if len(lines) > LINES:
        lines = [low + k * (high - low) // (LINES - 1) for k in range(LINES)]
    inner = [torch.clamp(torch.full_like(lower, x), lower, upper) for x in lines]
    return [lower, *inner, upper]


def _within(region: Region, at: Tensor, axis: int) -> Tensor:
    """Points moved along one axis, the other one kept, until they are in the ball."""
    kept = at[..., 1 - axis].abs().clamp(max=region.delta)
    rest = region.delta - kept
    limit = rest if region.norm == 1 else torch.sqrt(rest * (region.delta + kept))
    ends = [at[..., 0], at[..., 1]]
    ends[axis] = torch.clamp(ends[axis], -limit, limit)
    return torch.stack(ends, dim=-1)


def _rim(region: Region, at: Tensor, count: int) -> Tensor:
    """Points of the outer curve, all around."""
    angles = torch.arange(count, dtype=at.dtype, device=at.device) * (2 * math.pi / count)
    around = torch.stack([torch.cos(angles), torch.sin(angles)], dim=-1)
    around *= region.delta / torch.linalg.vector_norm(around, ord=region.norm, dim=-1, keepdim=True)
    return around[:, None, None, None].expand(-1, *at.shape[1:])
