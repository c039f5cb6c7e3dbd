"""StAdv: a field that pays for its roughness."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.attacks.axes import image_axes
from warpcert.attacks.base import Attack
from warpcert.attacks.chase import Chase, Found
from warpcert.core import rounding


@dataclass(frozen=True)
class StAdv(Attack):
    """Xiao et al., "Spatially transformed adversarial examples" (2018), in the set at the end.

    Minimises max(margin, 0) + ``roughness`` times the total variation of the field. Unlike
    there, by Adam with steps of size ``step``, so that a batch goes together.
    """

    steps: int = 50
    step: float = 0.2
    roughness: float = 0.005
    restarts: int = 1

    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        starts = start.parameters[:, None]
        if self.restarts > 1:
            others = chase.inputs.sample(self.restarts, generator)[:, 1:].to(starts.dtype)
            starts = torch.cat([starts, others], dim=1)
        return start.better(chase.each(starts, self._descend))

    def _descend(self, chase: Chase, v: Tensor) -> Found:
        axes = image_axes(chase, v)
        first, second = torch.zeros_like(v), torch.zeros_like(v)
        shape = (-1,) + (1,) * (v.dim() - 1)
        for k in range(1, self.steps + 1):
            _, goals, slopes = chase.slope(v)
            slopes = torch.where((goals > 0).view(shape), slopes, 0.0)
            slopes = slopes + self.roughness * _variation_slopes(v, axes)
            first = 0.9 * first + 0.1 * slopes
            second = 0.999 * second + 0.001 * slopes * slopes
            size = first / (1 - 0.9**k)
            v = v - self.step * size / ((second / (1 - 0.999**k)).sqrt() + rounding.STILL)
        return chase.found(v)


def _variation_slopes(v: Tensor, axes: tuple[int, int]) -> Tensor:
    """The gradient of the sum, over pixels, of the Euclidean norms of differences to the next."""
    at = v.detach().requires_grad_()
    apart = 6 - sum(axes)  # the third axis: channels, or (dx, dy)
    total = at.new_zeros(())
    for axis in axes:
        squares = at.diff(dim=axis).square().sum(apart)
        total = total + torch.where(squares > 0, squares, 1.0).sqrt().sum()
    return torch.autograd.grad(total, at)[0]
