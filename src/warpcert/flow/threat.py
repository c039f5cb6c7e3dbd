"""Threat: which bending fields an adversary may use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from warpcert.core.checks import check_fields
from warpcert.core.rounding import membership
from warpcert.core.shapes import Bool, Float
from warpcert.flow.project import project
from warpcert.flow.region import Region
from warpcert.flow.sample import sample

NORMS: dict[object, float] = {
    1: 1.0, "1": 1.0, 2: 2.0, "2": 2.0, math.inf: math.inf, "inf": math.inf
}  # fmt: skip
Shape = tuple[int, int]


@dataclass(frozen=True)
class Threat:
    """All fields (H, W, 2) with small, smooth displacements.

    ``||field[i, j]||_norm <= delta`` at every pixel, and 4-neighbours differ by at most
    ``gamma`` in each component (inf: free). ``border="clamp"``: beyond the image lies the edge
    pixel's value; ``"inside"``: no pixel may point outside the image.
    """

    norm: float | Literal["1", "2", "inf"] = math.inf
    delta: float = 0.5
    gamma: float = math.inf
    border: Literal["clamp", "inside"] = "clamp"

    def __post_init__(self) -> None:
        """Check the numbers and store the norm as a float."""
        norm = NORMS.get(self.norm) if isinstance(self.norm, (int, float, str)) else None
        if norm is None or isinstance(self.norm, bool):
            raise ValueError(f"norm must be 1, 2 or inf, got {self.norm!r}")
        delta, gamma = _number("delta", self.delta), _number("gamma", self.gamma)
        if delta == math.inf:
            raise ValueError("delta must be finite, got inf")
        if self.border not in ("clamp", "inside"):
            raise ValueError(f"border must be 'clamp' or 'inside', got {self.border!r}")
        for name, value in (("norm", norm), ("delta", delta), ("gamma", gamma)):
            object.__setattr__(self, name, value)

    def region(self, shape: Shape) -> Region:
        """Where each pixel of an (H, W) image may go, given that the others can follow.

        With "inside" a pixel k steps from an edge may move at most k min(1, gamma) towards it:
        the edge pixel may not move at all that way, and each step gains gamma. Every such
        displacement v is reached by a field of the threat, v clamped to each pixel's box (a
        clamp between gamma-Lipschitz ends is gamma-Lipschitz, and shrinks towards zero).
        """
        ball = torch.full((2,), float(self.delta), dtype=torch.float64)
        if self.border == "clamp":
            return Region(float(self.norm), self.delta, -ball, ball)
        step = min(1.0, self.gamma)
        y, x = (torch.arange(length, dtype=torch.float64) for length in shape)
        before = torch.stack(torch.meshgrid(x, y, indexing="xy"), dim=-1) * step
        after = torch.stack(torch.meshgrid(x.flip(0), y.flip(0), indexing="xy"), dim=-1) * step
        return Region(
            float(self.norm), self.delta, -torch.minimum(before, ball), torch.minimum(after, ball)
        )

    def excess(self, fields: Float[Tensor, "B H W 2"]) -> Float[Tensor, " B"]:
        """By how much each field leaves the threat, in pixels; at most 0 for members.

        Computed in float64; NaN counts as infinitely far.
        """
        fields = fields.to(torch.float64)
        norms = torch.linalg.vector_norm(fields, ord=float(self.norm), dim=-1)
        worst = norms.amax((1, 2)) - self.delta
        for axis in (1, 2):
            if self.gamma < math.inf and fields.shape[axis] > 1:
                steps = fields.diff(dim=axis).abs().amax((1, 2, 3))
                worst = torch.maximum(worst, steps - self.gamma)
        if self.border == "inside":
            region = self.region((fields.shape[1], fields.shape[2])).to(fields.device)
            for beyond in (region.lower - fields, fields - region.upper):
                worst = torch.maximum(worst, beyond.amax((1, 2, 3)))
        return worst.nan_to_num(math.inf)

    def contains(self, fields: Tensor) -> Bool[Tensor, " B"]:
        """Say which fields (B, H, W, 2) belong to the threat, up to `rounding.membership`.

        The fields' own numbers are taken as exact, also when they are float32.
        """
        check_fields(fields)
        return self.excess(fields) <= membership(self.delta)

    def project(self, fields: Tensor) -> Float[Tensor, "B H W 2"]:
        """Return nearby members of the threat; members stay as they are."""
        check_fields(fields)
        return project(self, fields)

    def sample(
        self,
        shape: Shape,
        n: int,
        *,
        generator: torch.Generator | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
        kind: Literal["mixed", "uniform"] = "mixed",
    ) -> Float[Tensor, "n H W 2"]:
        """Draw members of the threat for an (H, W) image: extreme ones and random ones.

        "mixed" takes turns between the extreme members (translations, ramps and cones that spend
        all of gamma, checkerboards and corners of the ball) and random ones; "uniform" draws
        each pixel's displacement uniformly from its region (then, for a finite gamma, projected).
        The same generator state gives the same fields on every device.
        """
        fields = sample(self, shape, n, generator, kind).to(dtype=dtype, device=device)
        return self.project(fields) if n else fields


def _number(name: str, value: object) -> float:
    """A float >= 0, or one clear line."""
    if value == "inf":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} must be a number >= 0, got {value!r}")
    if not value >= 0:
        raise ValueError(f"{name} must be a number >= 0, got {value}")
    return float(value)
