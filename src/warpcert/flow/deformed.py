"""DeformedImage: all bent versions of an image, as a set that verifiers can ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.checks import check_fields, check_images, check_rows
from warpcert.core.inputset import InputSet
from warpcert.core.interval import Interval
from warpcert.core.memory import chunk_size
from warpcert.core.shapes import Float
from warpcert.flow.bounds import pixel_bounds
from warpcert.flow.minimum import WORKING_ARRAYS, lowest
from warpcert.flow.region import Region
from warpcert.flow.threat import Threat
from warpcert.flow.warp import warp


@dataclass(frozen=True, eq=False)
class DeformedImage(InputSet):
    """The images {warp(image, field): field in the threat}, for each image (B, C, H, W)."""

    images: Tensor
    threat: Threat

    def __post_init__(self) -> None:
        """Refuse what are not images."""
        check_images(self.images)

    @cached_property
    def box(self) -> Interval:
        """The tightest box, see `pixel_bounds`."""
        return pixel_bounds(self.images, self.threat)

    def minimise(self, rows: Tensor) -> Float[Tensor, "B R"]:
        """Lower bounds of <row, bent image>, see `support`."""
        check_rows(rows, self.images)
        bound: Tensor = _Support.apply(rows, self)  # type: ignore[no-untyped-call]
        return bound

    def realise(self, v: Tensor) -> Float[Tensor, "B C H W"]:
        """The images bent by fields (B, H, W, 2)."""
        return warp(self.images, v)

    def project(self, v: Tensor) -> Float[Tensor, "B H W 2"]:
        """The fields (B, H, W, 2) brought into the threat."""
        check_fields(v, (self.images.shape[2], self.images.shape[3]))
        return self.threat.project(v)

    def _region(self) -> Region:
        height, width = self.images.shape[-2:]
        return self.threat.region((height, width)).shrunk_to(height, width).to(self.images.device)

    def _chunks(self, rows: int) -> Iterator[slice]:
        """Slices of the row axis that fit into memory."""
        batch, channels, height, width = self.images.shape
        size = chunk_size(
            8 * (WORKING_ARRAYS + channels) * batch * height * width, self.images.device
        )
        return (slice(start, start + size) for start in range(0, rows, size))


def support(images: Tensor, threat: Threat, rows: Tensor) -> Tensor:
    """Lower bounds of <row, bent image>: images (B, C, H, W), rows (B, R, C, H, W) -> (B, R).

    Sound for every gamma, because it drops the coupling between pixels, which only adds fields;
    each pixel's channels move together, and its least contribution is found up to a rounding
    that is taken off. With gamma = inf nothing is dropped and the bound is the exact minimum,
    for every norm and any number of channels. Differentiable in the rows: the gradient is the
    minimising bent image. Infinite or NaN rows are refused.
    """
    return DeformedImage(images, threat).minimise(rows)


class _Support(torch.autograd.Function):
    """The support function and its gradient, the minimiser."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, deformed: DeformedImage) -> Tensor:
        images = deformed.images.detach().to(torch.float64)
        region, (channels, height, width) = deformed._region(), images.shape[1:]
        track = ctx.needs_input_grad[0]
        bounds, fields = [], []
        relative = rounding.geometry(region.norm, region.delta) + rounding.summation(
            height * width + channels
        )
        largest = images.abs().amax((1, 2, 3))[:, None]
        for part in deformed._chunks(rows.shape[1]):
            a = rows[:, part].detach().to(torch.float64)
            value, where = lowest(images, region, rows=a, track=track)
            slack = relative * largest * a.abs().sum((2, 3, 4))
            bounds.append(rounding.down(value.sum((2, 3)) - slack, rows.dtype))
            if where is not None:
                fields.append(where)
        ctx.deformed = deformed
        if track:
            ctx.save_for_backward(torch.cat(fields, dim=1))
        return torch.cat(bounds, dim=1)

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None]:
        (grad,), (fields,) = outputs, ctx.saved_tensors
        count = fields.shape[1]
        images = ctx.deformed.images.detach().to(torch.float64)
        images = images[:, None].expand(-1, count, -1, -1, -1).flatten(0, 1)
        bent = warp(images, fields.flatten(0, 1)).unflatten(0, (-1, count))
        return grad[..., None, None, None] * bent.to(grad.dtype), None
