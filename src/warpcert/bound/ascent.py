"""Ascent: slopes of the lines below hinges, and the input set's duals, made better together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.bound.backward import backward
from warpcert.bound.known import Known
from warpcert.bound.stage import Found, Stage
from warpcert.bound.substitution import largest
from warpcert.core.clock import tick
from warpcert.core.inputset import InputSet
from warpcert.core.shapes import Float
from warpcert.net import Band, Hinge, Line

SLOPE_ARRAYS = 7
"""Arrays of every activation's size that the search keeps for one row: slopes, the best ones,
their gradient and Adam's two, and what back-substitution saves for the gradient."""

LAYER_ARRAYS = 12
"""Arrays of the largest layer's size that one step needs for one row, about."""


@dataclass(frozen=True)
class Ascent(Stage):
    """Gradient ascent in float32 on each row's own slopes, then one careful evaluation.

    Every slope between a convex hinge's two sides gives a line below it, so nothing that the
    search does can make a bound wrong. Each of ``iterations`` spends ``dual_steps`` on the
    input set's duals, and the evaluation ``last_steps``. The best of all iterations is kept, row
    by row.
    """

    iterations: int = 20
    rate: float = 0.2
    decay: float = 0.95
    dual_steps: int = 10
    last_steps: int | None = None

    def __call__(
        self,
        known: Known,
        inputs: InputSet,
        rows: Float[Tensor, "B R ..."],
        value: int,
        start: Found | None = None,
    ) -> Found:
        slopes, duals = self._search(known.to(torch.float32), inputs, rows.float(), value, start)
        form = backward(known, rows, value, _bands(known, slopes, careful=True))
        least, duals = inputs.minimise(form.rows, duals, self.last_steps)
        return Found(form.bound(least), slopes, duals)

    def row_bytes(self, known: Known, value: int) -> int:
        hinges = sum(known.bands[k].below.slope[0].numel() for k in _hinges(known, value))
        return 4 * (SLOPE_ARRAYS * hinges + LAYER_ARRAYS * largest(known, value))

    def _search(
        self, known: Known, inputs: InputSet, rows: Tensor, value: int, start: Found | None
    ) -> tuple[dict[int, Tensor], Tensor | None]:
        """The best slopes (B, R, ...) by activation, and the duals that go with them."""
        given = start.slopes if start else {}
        slopes = {
            k: given[k].float().nan_to_num()
            if k in given
            else _expand(known.bands[k].below.slope, rows)
            for k in _hinges(known, value)
        }
        self._clamp(known, slopes)
        duals = start.duals if start else None
        if not slopes:
            return {}, duals
        best = {k: slope.clone() for k, slope in slopes.items()}
        best_duals, highest = duals, rows.new_full(rows.shape[:2], -torch.inf)
        leaves = {k: slope.clone().requires_grad_() for k, slope in slopes.items()}
        adam = torch.optim.Adam(leaves.values(), lr=self.rate, maximize=True)
        slower = torch.optim.lr_scheduler.ExponentialLR(adam, self.decay)
        for _ in range(self.iterations):
            tick()
            with torch.enable_grad():
                form = backward(known, rows, value, _bands(known, leaves), False, careful=False)
                least, duals = inputs.minimise(form.rows, duals, self.dual_steps)
                bound = form.constant + least
                total = bound.sum()
            better = bound.detach() > highest
            highest = torch.where(better, bound.detach(), highest)
            for k, leaf in leaves.items():
                best[k] = torch.where(_like(better, leaf), leaf.detach(), best[k])
            if duals is not None:
                if best_duals is None or best_duals.shape != duals.shape:
                    best_duals = duals
                best_duals = torch.where(_like(better, duals), duals, best_duals)
            adam.zero_grad()
            total.backward()
            adam.step()
            slower.step()
            self._clamp(known, leaves)
        return best, best_duals

    @staticmethod
    def _clamp(known: Known, slopes: Mapping[int, Tensor]) -> None:
        """Keep slopes between the sides of their hinge."""
        with torch.no_grad():
            for k, slope in slopes.items():
                node = known.network.steps[k - 1].node
                assert isinstance(node, Hinge)
                slope.clamp_(*node.sides)


def _hinges(known: Known, value: int) -> list[int]:
    """Convex hinges that a value depends on, by number."""
    steps, used = known.network.steps, {value}
    for k in range(value, 0, -1):
        if k in used:
            used.update(steps[k - 1].inputs)
    found = []
    for k in known.network.activations:
        node = steps[k - 1].node
        if k in used and isinstance(node, Hinge) and node.sides[0] <= node.sides[1]:
            found.append(k)
    return found


def _bands(known: Known, slopes: Mapping[int, Tensor], careful: bool = False) -> dict[int, Band]:
    """Bands with other slopes below, where hinges are bent; carefully, or as they should be."""
    bands = {}
    for k, slope in slopes.items():
        step, old = known.network.steps[k - 1], known.bands[k]
        assert isinstance(step.node, Hinge)
        given = known.values[step.inputs[0]]
        lower, upper = given.lower[:, None], given.upper[:, None]
        bent = step.node.bent(lower, upper)
        used = torch.where(bent, slope.to(lower), old.below.slope[:, None])
        if careful:
            bands[k] = step.node.band(lower.expand_as(used), upper.expand_as(used), used)
        else:
            above = Line(old.above.slope[:, None], old.above.intercept[:, None])
            below = Line(used, old.below.intercept[:, None].expand_as(used))
            bands[k] = Band(below, above)
    return bands


def _expand(slope: Tensor, rows: Tensor) -> Tensor:
    """A slope (B, ...) for each row: (B, R, ...)."""
    return slope[:, None].expand(-1, rows.shape[1], *slope.shape[1:]).to(rows.dtype).clone()


def _like(mask: Tensor, x: Tensor) -> Tensor:
    """A mask (B, R) that can be broadcast with x (B, R, ...)."""
    return mask.reshape(*mask.shape, *(1,) * (x.dim() - 2))
