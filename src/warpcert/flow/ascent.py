"""climb: a search for good duals.

The hull problem gives every pixel weights w on its points, so that its displacement is the mean v
of the points, and asks for the least <g, w> with |Dv| <= gamma. The primal-dual method with an
entropy as distance takes turns between

    w  <-  w exp(-tau (g + points . D^T mu)), normalised,
    mu <-  shrink(mu + sigma D (2 v - previous v), sigma gamma),

and the mean of all mu comes within O(1 / steps) of the best. After k steps w is the softmax of
-tau (k g + points . S), with S the sum of the slopes D^T mu so far: it need not be stored. That is
also what it means: the pixel's minimum at the mean slope, softened by a temperature 1 / (tau k).

Every pixel has a tau of its own, larger where the values around it vary less, and every edge a
sigma that fits its two pixels.
"""

from __future__ import annotations

import torch
import torch.nn.functional as nn
from torch import Tensor

from warpcert.core.shapes import Float
from warpcert.flow.differences import adjoint, edges

BALANCE = 1.25
"""tau, where values vary by 1. Measured on rows of trained networks, as the next two: twice as
much or half as much is slower, for gamma from 0.001 to 0.3."""

AROUND = 5
"""Side of the square over which the variation of values is averaged."""

FLOOR = 0.3
"""Least variation of values that tau is chosen by, in units of the image's root mean square."""

STEEP = 4.0
"""What sigma times tau times a region's squared radius is the inverse of. A proof of convergence
would ask for 8, the squared norm of D. Measured: with 4 the search is faster, with 2 it fails."""


def climb(
    values: Float[Tensor, "K B R h w"],
    at: Tensor,
    gamma: float,
    steps: int,
    warm: Float[Tensor, "B R 2 2 h w"] | None = None,
    track: bool = False,
) -> tuple[Float[Tensor, "B R 2 2 h w"], Float[Tensor, "K B R h w"] | None]:
    """Duals, in float32, that make the bound high; the best of those met. Nothing is proved here.

    ``values``: the objective at every pixel's points; ``at``: the points, see `Points`. With
    ``track`` the weights on the points come too, as the mean over all steps but the first ones:
    nearly the minimiser of the hull problem.
    """
    hill = _Hill(values, at, gamma)
    found, weights = hill.walk(steps, warm, track)
    if warm is not None:
        found.append(warm)
    heights = torch.stack([hill.height(duals) for duals in found])
    best = heights.nan_to_num(-torch.inf).argmax(0)[..., None, None, None, None]
    chosen = found[0]
    for number, duals in enumerate(found[1:], start=1):
        chosen = torch.where(best == number, duals, chosen)
    return chosen, weights


def settle(
    values: Float[Tensor, "K B R h w"], at: Tensor, duals: Float[Tensor, "B R 2 2 h w"]
) -> Float[Tensor, "K B R h w"]:
    """Weights that put every pixel on its lowest point under given duals."""
    hill = _Hill(values, at, 0.0)
    lowest = hill.tilted(adjoint(duals).movedim(2, 0)).argmax(0, keepdim=True)
    return torch.zeros_like(hill.logits).scatter_(0, lowest, 1.0).view_as(values)


def _tau(values: Float[Tensor, "K B R h w"]) -> Float[Tensor, "B R h w"]:
    """How strongly each pixel responds, by how much the values around it vary."""
    square = (values.amax(0) - values.amin(0)).square()
    around = nn.avg_pool2d(square, AROUND, 1, AROUND // 2, count_include_pad=False)
    size = torch.sqrt(around + FLOOR**2 * square.mean((2, 3), keepdim=True))
    return BALANCE / torch.where(size > 0, size, 1.0)


class _Hill:
    """The dual function; arrays are (K or 2, B, R, h, w), or (K or 2, M) for all M pixels."""

    def __init__(self, values: Tensor, at: Tensor, gamma: float) -> None:
        self.shape, self.gamma = values.shape[1:], gamma
        self.tau = _tau(values)
        self.negative = (values * -self.tau).flatten(1)
        self.shared = at.dim() == 2
        self.at = at if self.shared else at.expand(2, *values.shape).flatten(2)
        middle = 0.5 * (at.amax(1, keepdim=True) + at.amin(1, keepdim=True))
        reach = (at - middle).square().sum(0).amax(0)
        reach = torch.where(reach > 0, reach, 1.0)  # where nothing moves, any will do
        self.strength = STEEP * reach * self.tau
        self.logits, self.weights = torch.empty_like(self.negative), torch.empty_like(self.negative)

    def tilted(self, slope: Tensor, weight: float = 1.0) -> Float[Tensor, "K M"]:
        """Minus tau times (weight times the values, plus points . slope); overwritten."""
        slope = (slope * self.tau).reshape(2, -1)
        if self.shared:
            torch.addmm(self.negative, self.at.T, slope, beta=weight, alpha=-1, out=self.logits)
        else:
            torch.mul(self.negative, weight, out=self.logits)
            self.logits.addcmul_(self.at[0], slope[0], value=-1)
            self.logits.addcmul_(self.at[1], slope[1], value=-1)
        return self.logits

    def mean(self, weights: Tensor) -> Float[Tensor, "2 B R h w"]:
        """The displacements that weights on the points stand for."""
        if self.shared:
            return (self.at @ weights).view(2, *self.shape)
        return torch.stack([(x * weights).sum(0) for x in self.at]).view(2, *self.shape)

    def height(self, duals: Tensor) -> Float[Tensor, "B R"]:
        """The dual function, roughly."""
        highest = self.tilted(adjoint(duals).movedim(2, 0)).amax(0).view(self.shape)
        return -(highest / self.tau).sum((2, 3)) - self.gamma * duals.abs().sum((2, 3, 4, 5))

    def walk(
        self, steps: int, warm: Tensor | None, track: bool
    ) -> tuple[list[Tensor], Tensor | None]:
        """The mean and the last of the duals on the way, and the mean of the weights."""
        strength = self.strength
        across = 1 / torch.maximum(strength[..., 1:], strength[..., :-1])
        along = 1 / torch.maximum(strength[..., 1:, :], strength[..., :-1, :])
        slopes = self.tau.new_zeros((2, *self.shape))
        before = self._respond(slopes, 0)
        right, down = slopes[..., :-1].clone(), slopes[..., :-1, :].clone()
        if warm is not None:
            right, down = (x.movedim(2, 0).contiguous() for x in edges(warm))
        total_right, total_down = torch.zeros_like(right), torch.zeros_like(down)
        weights, early = torch.zeros_like(self.weights) if track else None, steps // 4
        for k in range(1, steps + 1):
            slopes[..., :-1] -= right
            slopes[..., 1:] += right
            slopes[..., :-1, :] -= down
            slopes[..., 1:, :] += down
            v = self._respond(slopes, k)
            ahead = torch.lerp(before, v, 2.0)
            before = v
            right = _shrink(right, across, ahead[..., 1:] - ahead[..., :-1], self.gamma)
            down = _shrink(down, along, ahead[..., 1:, :] - ahead[..., :-1, :], self.gamma)
            total_right += right
            total_down += down
            if weights is not None and k > early:
                weights += self.weights
        if weights is not None:
            weights = (weights / (steps - early)).view(-1, *self.shape)
        mean = self._join(total_right / steps, total_down / steps)
        return [mean, self._join(right, down)], weights

    def _respond(self, slopes: Tensor, k: int) -> Tensor:
        """Where the pixels are after k steps whose slopes add up to ``slopes``."""
        return self.mean(torch.softmax(self.tilted(slopes, k), 0, out=self.weights))

    def _join(self, right: Tensor, down: Tensor) -> Tensor:
        """Duals of both directions as one array."""
        whole = right.new_zeros((*self.shape[:2], 2, 2, *self.shape[2:]))
        whole[:, :, 0, :, :, :-1] = right.movedim(0, 2)
        whole[:, :, 1, :, :-1, :] = down.movedim(0, 2)
        return whole


def _shrink(duals: Tensor, sigma: Tensor, steepness: Tensor, gamma: float) -> Tensor:
    """mu + sigma times (the difference, brought nearer to zero by gamma), or zero on the way."""
    scaled = torch.addcdiv(steepness, duals, sigma)
    return nn.softshrink(scaled, gamma) * sigma
