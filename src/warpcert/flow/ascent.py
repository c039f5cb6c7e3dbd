"""climb: a search for good duals.

The hull problem gives every pixel weights w on its points, so that its displacement is the mean v
of the points, and asks for the least <g, w> with |Dv| <= gamma. The primal-dual method with an
entropy as distance takes turns between

    w  <-  w exp(-tau (g + points . D^T mu)), normalised,
    mu <-  shrink(mu + sigma D (2 v - previous v), sigma gamma),

and the mean of all mu comes within O(1 / steps) of the best. That of the second half is often
nearer still, so each row takes the better of them. After k steps w is the softmax of
-tau (k g + points . S), with S the sum of the slopes D^T mu so far: it need not be stored. That is
also what it means: the pixel's minimum at the mean slope, softened by a temperature 1 / (tau k).

Every pixel has a tau of its own, larger where the values around it vary less, and every edge a
sigma that fits its two pixels.
"""

from __future__ import annotations

import torch
import torch.nn.functional as nn
from torch import Tensor

from warpcert.core.clock import tick
from warpcert.core.memory import is_shortage
from warpcert.core.shapes import Float, Int
from warpcert.flow.differences import adjoint, edges

BALANCE = 1.25
"""tau, where values vary by 1. Measured on rows of trained networks, as the next two: twice as
much or half as much is slower, for gamma from 0.001 to 0.3."""

NEAR, WARM = 4.0, 12.0
"""How much larger tau is on the way from duals that are good already, and from those of a row that
was nearly the same: then all pixels begin as soft as ever, but the duals hardly have to move.
Measured, the latter on rows of nodes from their parents' duals: of what is still to be gained 45
steps find 60 to 75 per cent, where with tau as it is from nothing they find 2 to 15. 8 and 16 are
as good."""

AROUND = 5
"""Side of the square over which the variation of values is averaged."""

FLOOR = 0.3
"""Least variation of values that tau is chosen by, in units of the image's root mean square."""

STEEP = 4.0
"""What sigma times tau times a region's squared radius is the inverse of. A proof of convergence
would ask for 8, the squared norm of D. Measured: with 4 the search is faster, with 2 it fails."""

MOST_PIXELS = 2048
"""Rows of no more pixels are walked in one kernel each on a GPU."""

_KERNELS = {"walk"}
"""What is done in one kernel on GPUs, until it turns out that this one cannot."""


def climb(
    values: Float[Tensor, "K B R h w"],
    at: Tensor,
    gamma: float,
    steps: int,
    warm: Float[Tensor, "B R 2 2 h w"] | None = None,
    track: bool = False,
    sharpness: float = 1.0,
) -> tuple[Float[Tensor, "B R 2 2 h w"], Float[Tensor, "K B R h w"] | None]:
    """Duals, in float32, that make the bound high; the best of those met. Nothing is proved here.

    ``values``: the objective at every pixel's points; ``at``: the points, see `Points`. With
    ``track`` the weights on the points come too, as the mean over all steps but the first ones:
    nearly the minimiser of the hull problem. ``sharpness`` is what tau is multiplied by.
    """
    if not track and steps and _fits(values):
        tau = sharpness * _tau(values)
        duals = _in_one_kernel(values, at, tau, _strength(at, tau), gamma, steps, warm)
        if duals is not None:
            return duals, None
    hill = _Hill(values, at, gamma, sharpness)
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
    lowest = hill.tilted(_inwards(adjoint(duals))).argmax(0, keepdim=True)
    return hill.outwards(torch.zeros_like(hill.logits).scatter_(0, lowest, 1.0))


def least(
    values: Float[Tensor, "K B R h w"],
    at: Tensor,
    gamma: float,
    duals: Float[Tensor, "B R 2 2 h w"] | None,
) -> tuple[Float[Tensor, "B R"], Int[Tensor, "1 B R h w"]]:
    """About what duals prove, in float32, and the point at which every pixel is lowest then."""
    total = values
    if duals is not None:
        slope = adjoint(duals)
        x, y = (a.reshape(-1, 1, 1, 1, 1) if at.dim() == 2 else a for a in at)
        total = values + x * slope[:, :, 0] + y * slope[:, :, 1]
    lowest, where = total.min(0, keepdim=True)
    bound = lowest[0].sum((2, 3))
    if duals is None:
        return bound, where
    right, down = edges(duals)
    return bound - gamma * (right.abs().sum((2, 3, 4)) + down.abs().sum((2, 3, 4))), where


def _fits(values: Float[Tensor, "K B R h w"]) -> bool:
    """Whether a GPU can make all steps of a row in one of its blocks."""
    return values.is_cuda and bool(_KERNELS) and values[0, 0, 0].numel() <= MOST_PIXELS


def _in_one_kernel(
    values: Tensor,
    at: Tensor,
    tau: Tensor,
    strength: Tensor,
    gamma: float,
    steps: int,
    warm: Tensor | None,
) -> Float[Tensor, "B R 2 2 h w"] | None:
    """What a walk finds, or None where the kernel cannot be had; it is not asked for again then."""
    tick()
    try:
        from warpcert.flow.fused import walk_fused  # noqa: PLC0415 - only where there is a GPU

        return walk_fused(values, at, tau, strength, gamma, steps, warm)
    except Exception as error:
        if is_shortage(error):
            raise
        _KERNELS.clear()  # no Triton, no C compiler, an old GPU: the steps one by one do the same
        return None


def _tau(values: Float[Tensor, "K B R h w"]) -> Float[Tensor, "B R h w"]:
    """How strongly each pixel responds, by how much the values around it vary."""
    square = (values.amax(0) - values.amin(0)).square()
    around = nn.avg_pool2d(square, AROUND, 1, AROUND // 2, count_include_pad=False)
    size = torch.sqrt(around + FLOOR**2 * square.mean((2, 3), keepdim=True))
    return BALANCE / torch.where(size > 0, size, 1.0)


def _strength(at: Tensor, tau: Float[Tensor, "B R h w"]) -> Float[Tensor, "B R h w"]:
    """The inverse of what a pixel lets its edges' sigma be."""
    middle = 0.5 * (at.amax(1, keepdim=True) + at.amin(1, keepdim=True))
    reach = (at - middle).square().sum(0).amax(0)
    return STEEP * torch.where(reach > 0, reach, 1.0) * tau  # where nothing moves, any will do


def _inwards(x: Float[Tensor, "B R *N h w"]) -> Float[Tensor, "*N h w BR"]:
    """All rows at the end: neighbours are then far apart, and differences long vectors."""
    return x.flatten(0, 1).movedim(0, -1).contiguous()


class _Hill:
    """The dual function; arrays are (K or 2, h, w, N) for all N rows, or (K or 2, h w N)."""

    def __init__(self, values: Tensor, at: Tensor, gamma: float, sharpness: float = 1.0) -> None:
        self.batch, self.gamma = values.shape[1:3], gamma
        tau = sharpness * _tau(values)
        self.tau = _inwards(tau)
        self.negative = _inwards((values * -tau).movedim(0, 2)).flatten(1)
        self.shared = at.dim() == 2
        self.at = at
        if not self.shared:
            each = at.expand(2, *values.shape).movedim((0, 1), (2, 3))
            self.at = _inwards(each).flatten(2)
        self.strength = _inwards(_strength(at, tau))
        self.logits, self.weights = torch.empty_like(self.negative), torch.empty_like(self.negative)
        self.pull = self.tau.new_empty((2, *self.tau.shape))

    def tilted(self, slope: Tensor, weight: float = 1.0) -> Float[Tensor, "K M"]:
        """Minus tau times (weight times the values, plus points . slope); overwritten."""
        pull = torch.mul(slope, self.tau, out=self.pull).flatten(1)
        if self.shared:
            torch.addmm(self.negative, self.at.T, pull, beta=weight, alpha=-1, out=self.logits)
        else:
            torch.mul(self.negative, weight, out=self.logits)
            self.logits.addcmul_(self.at[0], pull[0], value=-1)
            self.logits.addcmul_(self.at[1], pull[1], value=-1)
        return self.logits

    def height(self, duals: Tensor) -> Float[Tensor, "B R"]:
        """The dual function, roughly."""
        highest = self.tilted(_inwards(adjoint(duals))).amax(0).view_as(self.tau)
        least = -(highest / self.tau).sum((0, 1)).view(self.batch)
        right, down = edges(duals)
        return least - self.gamma * (right.abs().sum((2, 3, 4)) + down.abs().sum((2, 3, 4)))

    def walk(
        self, steps: int, warm: Tensor | None, track: bool
    ) -> tuple[list[Tensor], Tensor | None]:
        """Means of the duals on the way and the last ones, and the mean of the weights."""
        slopes = torch.zeros_like(self.pull)
        before, v = torch.empty_like(slopes), torch.empty_like(slopes)
        self._respond(slopes, 0, before)
        across, down = _Edges(self.strength, 2), _Edges(self.strength, 1)
        if warm is not None:
            for way, start in zip((across, down), edges(warm), strict=True):
                way.begin(_inwards(start))
        weights, early = torch.zeros_like(self.weights) if track else None, steps // 4
        begun, half = self._sums(across, down), None
        for k in range(1, steps + 1):
            tick()
            across.slopes(slopes)
            down.slopes(slopes, add=True)
            self._respond(slopes, k, v)
            ahead = before.lerp_(v, 2.0)
            across.climb(ahead, self.gamma)
            down.climb(ahead, self.gamma)
            before, v = v, before
            if weights is not None and k > early:
                weights += self.weights
            if k == steps // 2:
                half = self._sums(across, down)
        total = self._sums(across, down)
        found = [(total - begun) / steps, self._join(across.duals(), down.duals())]
        if half is not None:
            found.append((total - half) / (steps - steps // 2))
        return found, None if weights is None else self.outwards(weights / (steps - early))

    def outwards(self, x: Tensor) -> Float[Tensor, "K B R h w"]:
        """(K, h w N) as the caller knows it."""
        whole = x.view(-1, *self.tau.shape).movedim(-1, 1)
        return whole.unflatten(1, self.batch)

    def _respond(self, slopes: Tensor, k: int, out: Tensor) -> None:
        """Where the pixels are after k steps whose slopes add up to ``slopes``."""
        torch.softmax(self.tilted(slopes, k), 0, out=self.weights)
        if self.shared:
            torch.mm(self.at, self.weights, out=out.view(2, -1))
            return
        for axis in (0, 1):
            torch.mul(self.at[axis], self.weights, out=self.logits)
            torch.sum(self.logits, 0, out=out.view(2, -1)[axis])

    def _sums(self, across: _Edges, down: _Edges) -> Tensor:
        """The sums of all duals so far."""
        return self._join(across.total, down.total)

    def _join(self, right: Tensor, down: Tensor) -> Float[Tensor, "B R 2 2 h w"]:
        """Duals of both directions as one array."""
        whole = right.new_zeros((2, *self.pull.shape))
        whole[0, :, :, :-1] = right
        whole[1, :, :-1] = down
        return whole.movedim(-1, 0).unflatten(0, self.batch).contiguous()


class _Edges:
    """The duals of all edges in one direction, in place; arrays are (2, h, w, N)."""

    def __init__(self, strength: Float[Tensor, "h w N"], axis: int) -> None:
        """Edges along an axis of such arrays."""
        self.axis, self.length = axis, strength.shape[axis - 1]
        starts, ends = self._pair(strength[None])
        self.sigma = 1 / torch.maximum(starts, ends)
        self.scaled = self.sigma.new_zeros((2, *self.sigma.shape[1:]))  # duals over sigma
        self.excess, self.cut = torch.empty_like(self.scaled), torch.empty_like(self.scaled)
        shape = [2, *strength.shape]
        shape[axis] += 1
        sums = self.sigma.new_zeros(shape)  # of all duals so far; beyond the ends there are none
        self.total = sums.narrow(axis, 1, self.length - 1)
        self.into, self.away = (sums.narrow(axis, k, self.length) for k in (0, 1))

    def begin(self, duals: Tensor) -> None:
        """Start from given duals."""
        torch.div(duals, self.sigma, out=self.scaled)
        self.total.copy_(duals)

    def duals(self) -> Tensor:
        """The duals now."""
        return self.scaled * self.sigma

    def slopes(self, out: Tensor, add: bool = False) -> None:
        """What the sums of the duals add to the slopes of the pixels."""
        if add:
            out.add_(self.into).sub_(self.away)
        else:
            torch.sub(self.into, self.away, out=out)

    def climb(self, ahead: Tensor, gamma: float) -> None:
        """mu + sigma times the difference, brought nearer to zero by sigma gamma."""
        starts, ends = self._pair(ahead)
        torch.sub(ends, starts, out=self.excess).add_(self.scaled)
        torch.clamp(self.excess, -gamma, gamma, out=self.cut)
        torch.sub(self.excess, self.cut, out=self.scaled)
        self.total.addcmul_(self.scaled, self.sigma)

    def _pair(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What the edges start from and what they end at."""
        count = self.length - 1
        return x.narrow(self.axis, 0, count), x.narrow(self.axis, 1, count)
