"""polytope: all bent versions of an image as linear constraints on pixels and displacements.

The variables are the pixels x (C, H, W), the field v (H, W, 2) and, for the hull, weights. What
relates x to v depends on the relaxation; what holds for the field itself is common to all: each
displacement lies in its region, and 4-neighbours differ by at most gamma in each component.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.checks import check_images
from warpcert.core.interval import Interval
from warpcert.core.polytope import Block, Floats, Ints, Polytope, Rows
from warpcert.flow.bounds import pixel_bounds, region_bounds
from warpcert.flow.minimum import WORKING_ARRAYS, lowest
from warpcert.flow.planes import pixel_planes
from warpcert.flow.region import Region
from warpcert.flow.threat import Threat
from warpcert.flow.tiles import in_tiles
from warpcert.flow.warp import warp

Relaxation = Literal["hull", "planes", "box"]
SIDES = 16
"""Sides of the polygon around a disc: at its corners it reaches 2 % further."""


def polytope(
    images: Tensor,
    threat: Threat,
    relaxation: Relaxation = "hull",
    region: Region | None = None,
) -> list[Polytope]:
    """One polytope for each image (B, C, H, W); its parameters are the field (H, W, 2).

    ``"box"``: every pixel in its interval. ``"planes"``: the paper's program, every pixel in its
    interval and between its two planes. ``"hull"``: the convex hull of each pixel's channels and
    displacement; for norms 1 and 2, whose hulls are round, planes and the box's hull around it.
    A ``region`` with boxes (B, 1, H, W, 2) stands for the part of the threat within; the planes of
    "planes" are the whole threat's.

    Sound, because a bent image and its field satisfy every row: each row is proved, in the function
    that makes it, for all displacements of a pixel's region or all fields of the threat, and moved
    outwards by its rounding. "hull" implies "planes" up to rounding, and that implies "box".
    """
    check_images(images)
    if relaxation not in _RELAXATIONS:
        known = ", ".join(map(repr, _RELAXATIONS))
        raise ValueError(f"relaxation must be one of {known}, got {relaxation!r}")
    exact = images.detach().to(torch.float64)
    box = pixel_bounds(exact, threat) if region is None else region_bounds(exact, region)
    drafts = []
    for k, image in enumerate(exact):
        part = threat.region((image.shape[1], image.shape[2]))
        if region is not None:
            part = replace(region, lower=region.lower[k, 0], upper=region.upper[k, 0])
        drafts.append(_Draft(image, Interval(box.lower[k], box.upper[k]), part))
    _RELAXATIONS[relaxation](drafts, threat)
    return [draft.polytope() for draft in drafts]


class _Draft:
    """One image's variables and rows as they come together."""

    def __init__(self, picture: Tensor, box: Interval, region: Region) -> None:
        """Begin with pixels in their intervals and displacements in their boxes."""
        self.picture, self.region = picture, region
        self.ends: list[tuple[Floats, Floats]] = []
        self.blocks: list[Block] = []
        self.image = self.variables(_array(box.lower), _array(box.upper))
        self.moving = _array(box.upper > box.lower)
        shape, slack = (*picture.shape[1:], 2), rounding.membership(region.delta)
        self.field = self.variables(
            _array((region.lower - slack).expand(shape)),
            _array((region.upper + slack).expand(shape)),
        )

    def variables(self, lower: Floats, upper: Floats) -> Ints:
        """Add variables between two arrays and return their numbers, in the same shape."""
        first = sum(low.size for low, _ in self.ends)
        self.ends.append((lower.ravel(), upper.ravel()))
        return np.arange(first, first + lower.size).reshape(lower.shape)

    def rows(
        self, columns: Ints, values: Floats, lower: Floats | float, upper: Floats | float
    ) -> None:
        """Add rows (..., k): numbers of variables, their factors, and the two ends (...)."""
        columns, values = np.broadcast_arrays(columns, values)
        lower, upper = (np.broadcast_to(x, columns.shape[:-1]).ravel() for x in (lower, upper))
        flat = (-1, columns.shape[-1])
        self.blocks.append(Block(columns.reshape(flat), values.reshape(flat), lower, upper))

    def polytope(self) -> Polytope:
        """What has come together."""
        lower, upper = (np.concatenate(ends) for ends in zip(*self.ends, strict=True))
        return Polytope(lower, upper, Rows.of(self.blocks), self.image, self.field)


def _box(drafts: list[_Draft], threat: Threat) -> None:
    """Nothing more than the intervals, so that the field does not matter."""


def _planes(drafts: list[_Draft], threat: Threat) -> None:
    """The paper's rows: two planes for each pixel, and the field's own."""
    below, above = pixel_planes(torch.stack([draft.picture for draft in drafts]), threat)
    for draft, low, high in zip(drafts, below, above, strict=True):
        _smooth(draft, threat)
        _between(draft, _array(low), below=True)
        _between(draft, _array(high), below=False)


def _hull(drafts: list[_Draft], threat: Threat) -> None:
    """All that can be said of a pixel by itself, or nearly all, and the field's own rows.

    Norms 1 and 2: the hull over the box around the ball is larger than the ball's, but the only one
    here that knows that channels move together; with one channel the planes say nearly as much.
    """
    if threat.norm == math.inf:
        for draft in drafts:
            _smooth(draft, threat)
            _weigh(draft)
    else:
        _planes(drafts, threat)
        for draft in drafts:
            _fan(draft)
            if len(draft.image) > 1:
                _weigh(draft)


_RELAXATIONS: dict[str, Callable[[list[_Draft], Threat], None]] = {
    "hull": _hull,
    "planes": _planes,
    "box": _box,
}


def _smooth(draft: _Draft, threat: Threat) -> None:
    """The field's rows: gamma between neighbours, and the ball where it is not a box.

    They hold for all that `Threat.contains` accepts. Norm 1: |dx + dy| and |dx - dy| are at most
    |dx| + |dy|. Norm 2: so is |u . v| for unit vectors u, here the normals of a polygon. With gamma
    of at least 2 delta the neighbours are free.
    """
    slack = rounding.membership(threat.delta)
    reach = threat.delta + slack
    for u in _normals(threat.norm):
        draft.rows(draft.field, np.array(u), -reach, reach)
    if threat.gamma < 2 * threat.delta:
        step = threat.gamma + slack
        for here, there in ((draft.field[:-1], draft.field[1:]),
                            (draft.field[:, :-1], draft.field[:, 1:])):  # fmt: skip
            draft.rows(np.stack([here, there], -1), np.array([-1.0, 1.0]), -step, step)


def _normals(norm: float | str) -> list[tuple[float, float]]:
    """Normals of a polygon around the unit ball, one of each two, without those of its box."""
    if norm == math.inf:
        return []
    if norm == 1:
        return [(1.0, 1.0), (1.0, -1.0)]
    angles = (2 * math.pi * k / SIDES for k in range(SIDES // 2) if k % (SIDES // 4))
    return [(math.cos(angle), math.sin(angle)) for angle in angles]


def _between(
    draft: _Draft, planes: Floats, below: bool, keep: npt.NDArray[np.bool_] | bool = True
) -> None:
    """Rows x - slope . v >= constant (or <=) for planes (C, H, W, 3), where a pixel moves at all.

    Where its interval is a point, a plane has nothing to add.
    """
    chosen = draft.moving & keep
    field = np.broadcast_to(draft.field, (*draft.image.shape, 2))
    columns = np.concatenate([draft.image[..., None], field], axis=-1)[chosen]
    values = np.concatenate([np.ones_like(planes[..., :1]), -planes[..., 1:]], axis=-1)[chosen]
    constant = planes[..., 0][chosen]
    ends = (constant, math.inf) if below else (-math.inf, constant)
    draft.rows(columns, values, *ends)


def _weigh(draft: _Draft) -> None:
    """A pixel and its displacement are a mixture of those at the box's candidates.

    Between two neighbouring grid lines (or ends of the box) a bent pixel is linear along each axis,
    so it is the mixture of the four candidates around with the bilinear weights, the same
    ones for all channels and for the displacement. What warping the candidates rounds is allowed
    for, and how far a displacement that `Threat.contains` accepts can be outside.
    """
    picture, region = draft.picture, draft.region
    points, fresh = _candidates(region, *picture.shape[1:])
    fields = points.to(picture.device)[:, None]
    values = _array(torch.stack([warp(picture[None], field)[0] for field in fields], dim=-1))
    places = _array(points.permute(3, 1, 2, 0))
    moves = draft.moving.any(0)
    weights = _array(fresh.movedim(0, -1))[moves].astype(np.float64)
    numbers = draft.variables(np.zeros_like(weights), weights)
    draft.rows(numbers, weights, 1.0, 1.0)
    beyond = rounding.membership(region.delta)
    slack = rounding.geometry(math.inf, region.delta) + 2 * beyond
    slack *= float(picture.abs().max())
    for mixed, parts, allowed in (
        *((pixels, value, slack) for pixels, value in zip(draft.image, values, strict=True)),
        *((draft.field[..., axis], places[axis], beyond) for axis in (0, 1)),
    ):
        columns = np.concatenate([mixed[moves][:, None], numbers], axis=-1)
        whole = np.full((len(weights), 1), -1.0)
        factors = np.concatenate([whole, parts[moves] * weights], axis=-1)
        draft.rows(columns, factors, -allowed, allowed)


def _candidates(region: Region, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Where grid lines and ends of a box meet (K, H, W, 2), and which of them are new (K, H, W)."""
    across, first = _stops(region, 0, width)
    down, second = _stops(region, 1, height)
    shape = (height, width)
    points = [
        torch.stack([x.expand(shape), y.expand(shape)], dim=-1)
        for x, y in itertools.product(across, down)
    ]
    fresh = [(a & b).expand(shape) for a, b in itertools.product(first, second)]
    return torch.stack(points), torch.stack(fresh)


def _stops(region: Region, axis: int, length: int) -> tuple[list[Tensor], list[Tensor]]:
    """The ends of a box along an axis and the grid lines between, and which differ from the last.

    Grid lines further out than the image is long are not among them: nothing changes there.
    """
    lower, upper = region.lower[..., axis], region.upper[..., axis]
    lines = [torch.full_like(lower, m).clamp(lower, upper) for m in region.reach(axis, length)[1:]]
    stops = [lower, *lines, upper]
    fresh = [torch.ones_like(lower, dtype=torch.bool)]
    return stops, fresh + [here > before for before, here in itertools.pairwise(stops)]


def _fan(draft: _Draft) -> None:
    """Norms 1 and 2: up to four more planes on each side of every pixel.

    Sound for any slope, because the constant is the minimum of pixel - slope . v over the whole
    region, less its rounding.
    """
    picture, region = draft.picture[None], draft.region.to(draft.picture.device)

    def work(x: Tensor, part: Region) -> Tensor:
        return torch.stack([_under(x, part), -_under(-x, part)], dim=-3)

    found = in_tiles(work, picture, region, 2 * 4 * 8 * WORKING_ARRAYS)[0]
    for planes, below in zip(found.unbind(-3), (True, False), strict=True):
        fan = _array(planes.movedim(-2, 0))
        for number, plane in enumerate(fan):
            seen = (fan[:number] == plane).all(-1).any(0)
            _between(draft, plane, below, ~seen)


def _bends(x: Tensor, region: Region) -> Tensor:
    """Slopes (4, n, 1, h, W, 2) that suit the lower hull of x over a region.

    Along each axis through the middle of the box: where x is convex, the slopes before and behind;
    where it is concave, the chord's, twice.
    """
    shape = (1, *x.shape[-2:], 2)
    lower, upper = (end.to(x.device).expand(shape) for end in (region.lower, region.upper))
    middle = (lower + upper) / 2
    sides = []
    for axis in (0, 1):
        along = torch.arange(2, device=x.device) == axis
        before, behind = (warp(x, torch.where(along, end, middle)) for end in (lower, upper))
        half = (upper - lower)[..., axis] / 2
        run = torch.where(half > 0, half, math.inf)
        centre = warp(x, middle)
        first, last = (centre - before) / run, (behind - centre) / run
        chord = (first + last) / 2
        sides.append([torch.where(first < last, slope, chord) for slope in (first, last)])
    return torch.stack([torch.stack(pair, dim=-1) for pair in itertools.product(*sides)])


def _under(x: Tensor, region: Region) -> Tensor:
    """Planes (n, 1, h, W, 4, 3) below x, each as high as is proved."""
    planes = []
    for slope in _bends(x, region):
        constant, _ = lowest(x, region, slope=-slope)
        largest = x.abs().amax((1, 2, 3), keepdim=True) + (1 + region.delta) * slope.abs().sum(-1)
        constant = constant - rounding.geometry(region.norm, region.delta) * largest
        planes.append(torch.cat([constant[..., None], slope], dim=-1))
    return torch.stack(planes, dim=-2)


def _array(x: Tensor) -> npt.NDArray[Any]:
    """As numpy, with the same numbers."""
    return x.cpu().numpy()
