"""interior: the best duals between terminals, by an interior-point method.

Every terminal has weights w on its points, so that its displacement v is their mean, and the least
<values, w> is asked for with |Dv| <= capacity. Write z = values + points . s - t with slopes
s = D^T (y - y'), and a = capacity - Dv, a' = capacity + Dv. A solution has w z = a y = a' y' = 0.
The method keeps all six positive and takes Newton steps towards products that are equal and ever
smaller (Mehrotra's predictor and corrector). Everything but v can be eliminated, so that a step
costs one Cholesky factor of a matrix with two rows per terminal.

Any duals are feasible, so are y - y': whenever it stops, they are as good as the products are
small. Ten steps come within a few thousandths, for which first-order methods need thousands.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.clock import tick
from warpcert.core.shapes import Float
from warpcert.flow.terminals import EDGES, Terminals

SAFE = 0.98
"""How far to go on the way to where something would become zero."""


def interior(
    terminals: Terminals, gamma: float, iterations: int
) -> tuple[Float[Tensor, "N 2 E"], Float[Tensor, "N m K"]]:
    """Duals of the edges and weights on the points, in float64. Nothing is proved here."""
    state = _State(terminals, gamma)
    for _ in range(iterations):
        tick()
        if not state.step():
            break
    return state.duals, state.primal[0]


def working_bytes(terminals: int, points: int) -> int:
    """About how much memory a row takes."""
    return 8 * (12 * terminals**2 + 16 * terminals * points + 40 * 2 * EDGES * terminals)


class _State:
    """Where the method is: ``primal`` is w, a and a', ``dual`` z, y and y'.

    Arrays are (N, m, K) for points, (N, 2, E) for edges and (N, m, 2) for slopes.
    """

    def __init__(self, terminals: Terminals, gamma: float) -> None:
        self.at = terminals.at.to(torch.float64)
        x, y = self.at.unbind(-1)
        self.moments = torch.stack([torch.ones_like(x), x, y, x * x, x * y, y * y], dim=-1)
        self.start, self.end, self.real = terminals.start, terminals.end, terminals.real[:, None]
        values = terminals.values.to(torch.float64)
        lowest = values.amin(2, keepdim=True)
        variation = values.amax(2, keepdim=True) - lowest
        least = 1e-3 * variation.amax(1, keepdim=True)
        weights = torch.full_like(values, 1 / values.shape[2])
        excess = values - lowest + 0.1 * variation + least
        ends = (variation[..., 0].gather(1, each) for each in (self.start, self.end))
        flow = 0.1 * torch.maximum(*ends) + least[..., 0]
        flow = torch.where(self.real, flow[:, None], 0.0).expand(-1, 2, -1)
        capacity = gamma * terminals.length.to(torch.float64)[:, None]
        capacity = capacity.clamp(min=rounding.SLIGHT * float(self.at.abs().max()))
        capacity = torch.where(self.real & (capacity > 0), capacity, 1.0).expand(-1, 2, -1)
        self.primal, self.dual = [weights, capacity, capacity], [excess, flow, flow]
        self.astray = _mean(weights, self.at)  # of the points, less v, which is zero at first
        self.duals = torch.zeros_like(flow)
        self.enough = rounding.SOLVED * variation.sum((1, 2))
        self.products = values[0].numel() + 4 * terminals.real.sum(1)

    def step(self) -> bool:
        """One step of all rows; whether another one is worth while."""
        gap = _gap(self.primal, self.dual)
        newton = _Newton(self)
        primal, dual = newton.direction([torch.zeros_like(gap)[:, None, None]] * 3)
        ahead = [
            _moved(side, change, _length(side, change))
            for side, change in ((self.primal, primal), (self.dual, dual))
        ]
        shrinks = (_gap(*ahead) / gap).clamp(0, 1) ** 3
        goal = (shrinks * gap / self.products)[:, None, None]
        wanted = [goal - change * other for change, other in zip(primal, dual, strict=True)]
        primal, dual = newton.direction(wanted)
        length = _length(self.primal, primal)
        self.primal = _moved(self.primal, primal, length)
        self.astray = self.astray * (1 - length)
        self.dual = _moved(self.dual, dual, _length(self.dual, dual))
        found = self.dual[1] - self.dual[2]
        sane = torch.isfinite(found).all(2).all(1)
        self.duals = torch.where(sane[:, None, None], found, self.duals)
        return bool((sane & (_gap(self.primal, self.dual) > self.enough)).any())

    def differences(self, v: Float[Tensor, "N m 2"]) -> Float[Tensor, "N 2 E"]:
        """Dv; zero for what is no edge."""
        v = v.transpose(1, 2)
        start, end = (v.gather(2, each[:, None].expand(-1, 2, -1)) for each in self.ends)
        return torch.where(self.real, end - start, 0.0)

    def adjoint(self, duals: Float[Tensor, "N 2 E"]) -> Float[Tensor, "N m 2"]:
        """D^T of duals."""
        start, end = (each[:, None].expand(-1, 2, -1) for each in self.ends)
        slope = duals.new_zeros((*duals.shape[:2], self.primal[0].shape[1]))
        return slope.scatter_add_(2, end, duals).scatter_add_(2, start, -duals).transpose(1, 2)

    @property
    def ends(self) -> tuple[Tensor, Tensor]:
        """Where edges start and where they end."""
        return self.start, self.end


class _Newton:
    """The equations of one step, factored once; directions for any products wanted.

    With theta = w / z and the mean m of points under theta, v moves by its remainder less C times
    the change of its slopes, C the covariance of the points; and the slopes change by
    D^T phi D dv, phi = y / a + y' / a', and a remainder. So (C^-1 + D^T phi D) dv is known.
    """

    def __init__(self, state: _State) -> None:
        self.state = state
        (weights, *slacks), (excess, *flows) = state.primal, state.dual
        self.theta = weights / excess
        total, x, y, xx, xy, yy = _mean(self.theta, state.moments).unbind(-1)
        self.total, self.centre = total, torch.stack([x, y], dim=-1) / total[..., None]
        stiff = rounding.STIFF * (xx + yy) + torch.finfo(torch.float64).tiny
        xx, yy = xx - x * x / total + stiff, yy - y * y / total + stiff
        xy = xy - x * y / total
        volume = torch.maximum(xx * yy - xy * xy, rounding.STIFF * xx * yy)
        self.inverse = torch.stack([yy, -xy, -xy, xx], dim=-1).unflatten(-1, (2, 2))
        self.inverse /= volume[..., None, None]
        self.springs = [flow / slack for flow, slack in zip(flows, slacks, strict=True)]
        self.factor = torch.linalg.cholesky_ex(self._matrix(self.springs[0] + self.springs[1]))[0]

    def direction(self, wanted: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Changes of the primal and the dual ones that would make the products as wanted."""
        state = self.state
        (weights, *slacks), (excess, *flows) = state.primal, state.dual
        spare = wanted[0] / excess - weights
        moved = _mean(spare, state.moments[..., :3])
        loss, moved = moved[..., 0], moved[..., 1:]
        moved = moved - self.centre * loss[..., None] + state.astray
        lifts = [
            torch.where(state.real, want / slack - flow, 0.0)
            for want, slack, flow in zip(wanted[1:], slacks, flows, strict=True)
        ]
        right = (self.inverse @ moved[..., None])[..., 0] - state.adjoint(lifts[0] - lifts[1])
        v = torch.cholesky_solve(right.transpose(1, 2).flatten(1)[..., None], self.factor)
        bent = state.differences(v.view(len(v), 2, -1).transpose(1, 2))
        bends = (bent, -bent)
        flow = [
            lift + spring * bend
            for lift, spring, bend in zip(lifts, self.springs, bends, strict=True)
        ]
        slope = _against(state.adjoint(flow[0] - flow[1]), state.at)
        level = ((self.theta * slope).sum(2) - loss) / self.total
        change = slope - level[..., None]
        return [spare - self.theta * change, -bent, bent], [change, *flow]

    def _matrix(self, springs: Float[Tensor, "N 2 E"]) -> Float[Tensor, "N M M"]:
        """C^-1 + D^T phi D; the x of all terminals comes before their y."""
        state, pixels = self.state, self.theta.shape[1]
        start, end = state.ends
        side, count = 2 * pixels, len(springs)
        places = torch.cat(
            [a * side + b for a, b in ((start, end), (end, start), (start, start), (end, end))], 1
        )
        signed = torch.cat([-springs, -springs, springs, springs], 2)
        matrix = springs.new_zeros((count, side * side))
        for axis in (0, 1):
            matrix.scatter_add_(1, places + axis * (side + 1) * pixels, signed[:, axis])
        matrix = matrix.view(count, side, side)
        for row in (0, 1):
            for column in (0, 1):
                block = matrix[:, row * pixels :, column * pixels :]
                block.diagonal(dim1=1, dim2=2)[:, :pixels] += self.inverse[..., row, column]
        return matrix


def _mean(weights: Float[Tensor, "N m K"], table: Tensor) -> Float[Tensor, "N m _"]:
    """What weights make of a table (K, _) that all pixels share, or of (N, m, K, _)."""
    if table.dim() == 2:
        return weights @ table
    return (weights[..., None, :] @ table)[..., 0, :]


def _against(slopes: Float[Tensor, "N m 2"], at: Tensor) -> Float[Tensor, "N m K"]:
    """Slopes times points."""
    if at.dim() == 2:
        return slopes @ at.T
    return (at @ slopes[..., None])[..., 0]


def _gap(primal: Sequence[Tensor], dual: Sequence[Tensor]) -> Float[Tensor, " N"]:
    """The sum of all products, by which the duals fall short of the best at most."""
    pairs = zip(primal, dual, strict=True)
    return torch.stack([(one * other).sum((1, 2)) for one, other in pairs]).sum(0)


def _length(side: Sequence[Tensor], change: Sequence[Tensor]) -> Float[Tensor, "N 1 1"]:
    """How much of a change keeps everything positive; at most all of it."""
    limits = [
        torch.where(by < 0, x / -by, torch.inf).flatten(1).amin(1)
        for x, by in zip(side, change, strict=True)
    ]
    return (SAFE * torch.stack(limits).amin(0)).clamp(max=1.0)[:, None, None]


def _moved(side: Sequence[Tensor], change: Sequence[Tensor], length: Tensor) -> list[Tensor]:
    return [x + length * by for x, by in zip(side, change, strict=True)]
