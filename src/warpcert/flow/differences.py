"""Differences of a field along the grid's edges, and their adjoint.

Duals are (..., 2, 2, H, W): the edge's direction (right, down), the component (dx, dy), and the
pixel where the edge starts. Edges that would leave the image are not there: what the last column
of the first and the last row of the second direction hold is ignored.
"""

from __future__ import annotations

from torch import Tensor

from warpcert.core.shapes import Float


def edges(
    duals: Float[Tensor, "*N 2 2 H W"],
) -> tuple[Float[Tensor, "*N 2 H Wx"], Float[Tensor, "*N 2 Hy W"]]:
    """The duals of the edges to the right and of those downwards."""
    return duals[..., 0, :, :, :-1], duals[..., 1, :, :-1, :]


def adjoint(duals: Float[Tensor, "*N 2 2 H W"]) -> Float[Tensor, "*N 2 H W"]:
    """D^T mu: what every edge adds to the slope of its two pixels.

    The sum over pixels of (D^T mu) . v is the sum over edges of mu . (v at its end - v at its
    start).
    """
    right, down = edges(duals)
    slope = duals.new_zeros((*duals.shape[:-4], *duals.shape[-3:]))
    slope[..., :-1] -= right
    slope[..., 1:] += right
    slope[..., :-1, :] -= down
    slope[..., 1:, :] += down
    return slope
