"""coupled_minimum: the best bound of <row, bent image> when neighbours move alike."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.core.shapes import Float
from warpcert.flow.ascent import settle
from warpcert.flow.dual import dual_bound
from warpcert.flow.frame import Frame
from warpcert.flow.free import free_bound
from warpcert.flow.points import Points
from warpcert.flow.search import search
from warpcert.flow.translation import translation_bound

FARTHEST = 3
"""Largest reach for which translations are tried: beyond, flow constraints hardly bind them."""


@dataclass(frozen=True, eq=False)
class Found:
    """Bounds (B, R) in float64, duals (B, R, 2, 2, h, w), weights on points (K, B, R, h, w)."""

    bound: Tensor
    duals: Tensor | None
    weights: Tensor | None


def coupled_minimum(
    frame: Frame,
    points: Points | None,
    rows: Float[Tensor, "B R C h w"],
    gamma: float,
    steps: int,
    warm: Float[Tensor, "B R 2 2 h w"] | None = None,
    track: bool = False,
) -> Found:
    """The best of four lower bounds, each sound by itself, and the duals behind the dual ones.

    They are: free pixels, one translation and a rest, where gamma is small enough for that, the
    warm duals, and duals after ``steps`` more steps. The last two come from `dual_bound`, whatever
    the search has found. With ``track`` come the weights on the points that are nearly the
    minimiser; without steps, those that are lowest under the warm duals. Without points there is no
    search.
    """
    asked = frame.fold(rows)
    bounds = [free_bound(frame.images, frame.region, asked, frame.halo)[0]]
    if frame.region.uniform and 0 < frame.halo <= FARTHEST and _stiff(frame, rows, gamma):
        bounds.append(translation_bound(frame.images, frame.region, asked, gamma))
    tried = [] if warm is None else [warm]
    weights = None
    if points is not None and (steps or track):
        found, weights = _search(points, rows, gamma, steps, warm, track)
        tried += [] if found is None else [found]
    results = [
        dual_bound(frame.images, frame.region, asked, gamma, frame.fold(duals), frame.halo)
        for duals in tried
    ]
    best = frame.unfold(torch.stack(bounds + results).amax(0), rows)
    if not tried:
        return Found(best, None, weights)
    better = frame.unfold(results[-1] > results[0], rows)[..., None, None, None, None]
    return Found(best, torch.where(better, tried[-1], tried[0]), weights)


def _stiff(frame: Frame, rows: Tensor, gamma: float) -> bool:
    """Whether pixels as far apart as most are can differ by less than they move at all.

    Else a comparison with a translation gives nearly every pixel all that it can do by itself.
    """
    return gamma * sum(rows.shape[-2:]) / 4 < 2 * frame.region.delta


def _search(
    points: Points,
    rows: Tensor,
    gamma: float,
    steps: int,
    warm: Tensor | None,
    track: bool,
) -> tuple[Tensor | None, Tensor | None]:
    """Duals, if there are steps, and weights, if they are wanted; for rows scaled to 1."""
    scale = rows.abs().amax((2, 3, 4), keepdim=True)
    scale = torch.where(scale > 0, scale, 1.0)
    values = points.combine(rows / scale)
    scale = scale[..., None]
    start = None
    if warm is not None:
        start = (warm / scale).to(torch.float32).nan_to_num(0.0, 0.0, 0.0)
    if steps:
        duals, weights = search(values, points.at, gamma, steps, start, track)
        return duals * scale.to(torch.float32), weights
    if start is None:
        start = values.new_zeros((*rows.shape[:2], 2, 2, *rows.shape[-2:]))
    return None, settle(values, points.at, start)
