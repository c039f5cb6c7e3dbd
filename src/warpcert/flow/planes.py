"""pixel_planes: linear functions of the displacement below and above each pixel."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.checks import check_images
from warpcert.core.shapes import Float
from warpcert.flow.hull import supporting_slopes
from warpcert.flow.minimum import WORKING_ARRAYS, lowest
from warpcert.flow.region import Region
from warpcert.flow.threat import Threat
from warpcert.flow.tiles import in_tiles
from warpcert.flow.warp import warp

Plane = Float[Tensor, "B C H W 3"]
ROUNDS = 2
"""For norms 1 and 2: how often the point where a plane is lowest joins the points it is made of."""


def pixel_planes(images: Tensor, threat: Threat) -> tuple[Plane, Plane]:
    """Planes below and above each pixel, (B, C, H, W, 3) each: constant, slope dx, slope dy.

    For every displacement v = (dx, dy) in a pixel's region, constant + slope . v bounds the bent
    pixel. Sound for any slope, because the constant is the minimum of pixel - slope . v over
    the whole region as `lowest` finds it, less its rounding.

    Norm inf: the paper's optimum, the plane whose summed distance to the candidates (all points
    of the grid lines and ends, each once) is least, that is the highest at their centroid. Where
    several are, the tie-break is the one that is highest a step of `rounding.PLANE_STEP` away from
    the centroid in the direction in which the pixel grows (turned by 0.1 radian): the steeper
    one, which adds most to what the interval knows. Norms 1 and 2: the same with the
    candidates drawn into the ball, then corrected by the points where the plane cuts the image,
    and at its centre never below the plane for norm inf.
    """
    check_images(images)
    region = threat.region((images.shape[2], images.shape[3])).to(images.device)
    points = len(_lines(region, 0, images.shape[3])) * len(_lines(region, 1, images.shape[2]))
    exact = images.detach().to(torch.float64)

    def work(planes: Tensor, part: Region) -> Tensor:
        return torch.stack(
            [_below(planes, part, images.dtype), -_below(-planes, part, images.dtype)], -2
        )

    needed = 8 * (2 * points + WORKING_ARRAYS)
    below, above = in_tiles(work, exact, region, needed).unbind(-2)
    return below, above


def _below(x: Tensor, region: Region, dtype: torch.dtype) -> Tensor:
    """Planes below x: the best of a few slopes, each with the constant that makes it valid."""
    square = replace(region, norm=math.inf)
    frame = _Frame(x, square)
    slopes, _ = frame.slopes(x)
    best = _valid(x, region, slopes, dtype)
    if region.norm == math.inf:
        return best
    frame, triangle = _Frame(x, region), None
    for _ in range(ROUNDS):
        slopes, triangle = frame.slopes(x, triangle)
        plane = _valid(x, region, slopes, dtype)
        best = torch.where((frame.height(plane) > frame.height(best))[..., None], plane, best)
        _, lowest_at = lowest(x, region, slope=-slopes, track=True)
        assert lowest_at is not None
        frame.add(x, lowest_at)
    return best


def _valid(x: Tensor, region: Region, slopes: Tensor, dtype: torch.dtype) -> Tensor:
    """Planes with these slopes (as stored in ``dtype``) and the highest constant that is proved."""
    slopes = slopes.to(dtype)
    exact = slopes.to(torch.float64)
    constant, _ = lowest(x, region, slope=-exact)
    largest = x.abs().amax((1, 2, 3), keepdim=True) + (1 + region.delta) * exact.abs().sum(-1)
    constant = constant - rounding.geometry(region.norm, region.delta) * largest
    return torch.cat([rounding.down(constant, dtype)[..., None], slopes], dim=-1)


def _lines(region: Region, axis: int, length: int) -> list[Tensor]:
    """Where grid lines cross each region along an axis, its two ends first and last."""
    lower, upper = region.lower[..., axis], region.upper[..., axis]
    reach = region.reach(axis, length)
    inner = [torch.clamp(torch.full_like(lower, m), lower, upper) for m in reach[1:]]
    if region.uniform:
        inner = [line for line in inner if bool((lower < line) & (line < upper))]
    return [lower, *inner, upper]


class _Frame:
    """The points that a plane rests on: for each their place and the pixel's value there."""

    def __init__(self, x: Tensor, region: Region) -> None:
        """Cross the grid lines of both axes and draw the crossings into the ball."""
        across = _lines(region, 0, x.shape[-1])
        down = _lines(region, 1, x.shape[-2])
        places = torch.stack([torch.stack(torch.broadcast_tensors(h, v), -1)
                              for v in down for h in across])  # fmt: skip
        length = torch.linalg.vector_norm(places, ord=region.norm, dim=-1, keepdim=True)
        places = places * torch.where(length > region.delta, region.delta / length, 1.0)
        fields = places.to(x.device)
        if region.uniform:
            fields = fields[:, None, None, :].expand(-1, *x.shape[-2:], -1)
        self.values = torch.stack([warp(x, field[None]) for field in fields]).flatten(1)
        self.corners = (0, len(across) - 1, len(fields) - len(across), len(fields) - 1)
        self.places = self._spread(places, region, len(across)).to(x.device)
        self.shape = x.shape
        if not region.uniform:
            self.places = self.places[:, None, None].expand(-1, *x.shape, -1).flatten(1, -2)
        else:
            self.places = self.places[:, None]
        self.target = self._centre(across, down, region).to(x.device)

    def _spread(self, places: Tensor, region: Region, columns: int) -> Tensor:
        """Pull the ends apart along an axis on which a region has no width."""
        flat = (region.upper <= region.lower).to(places.dtype)
        number = torch.arange(places.shape[0])
        last = places.shape[0] // columns - 1
        sides = torch.stack([_side(number % columns, columns - 1), _side(number // columns, last)])
        sides = sides.T.to(places).view(-1, *[1] * (places.dim() - 2), 2)
        return places + sides * flat

    def _centre(self, across: list[Tensor], down: list[Tensor], region: Region) -> Tensor:
        """The centroid of the candidates, (1, 2) or (n, 2); for a cut ball that of its corners."""
        if region.norm != math.inf or region.uniform:
            return self.places[list(self.corners)].mean(0)
        both = []
        for axis, lines in enumerate((across, down)):
            stack = torch.stack(lines)
            lower, upper = region.lower[..., axis], region.upper[..., axis]
            once = (stack > lower) & (stack < upper)
            once[0] = once[-1] = True
            both.append((stack * once).sum(0) / once.sum(0))
        centre = torch.stack(both, dim=-1)
        return centre.expand(*self.shape, 2).flatten(0, -2)

    def slopes(self, x: Tensor, triangle: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The best plane's slopes (B, C, H, W, 2), and the triangles it rests on."""
        n = x.numel()
        mean = self.values.mean(0)
        leaning = ((self.values - mean)[..., None] * (self.places - self.target)).mean(0)
        size = torch.linalg.vector_norm(leaning, dim=-1, keepdim=True)
        extent = (self.places.amax(0) - self.places.amin(0)) / 2
        spread = (self.values.amax(0) - self.values.amin(0))[..., None]
        level = size <= rounding.PLANE_GAP * spread * extent.amax(-1, keepdim=True)
        unit = torch.where(level, leaning.new_tensor([1.0, 0.0]), leaning / size)
        turn = unit.new_tensor([[math.cos(0.1), math.sin(0.1)], [-math.sin(0.1), math.cos(0.1)]])
        target = self.target + rounding.PLANE_STEP * extent * (unit @ turn)
        if triangle is None:
            triangle = self._around(target.expand(n, 2))
        slopes, triangle = supporting_slopes(
            self.places, self.values, target.expand(n, 2), triangle
        )
        return slopes.view(*x.shape, 2), triangle

    def _around(self, target: Tensor) -> Tensor:
        """Three of the four corners with the target among them."""
        a, b, c, d = self.corners
        first, last = self.places[a], self.places[d]
        side = (last - first)[..., 0] * (target - first)[..., 1]
        side = side - (last - first)[..., 1] * (target - first)[..., 0]
        third = torch.where(side > 0, c, b)
        return torch.stack([torch.full_like(third, a), third, torch.full_like(third, d)], dim=-1)

    def add(self, x: Tensor, fields: Tensor) -> None:
        """Take in one more point (B, C, H, W, 2) for each plane."""
        channels = x.shape[1]
        flat = fields.flatten(0, 1)
        value = warp(x.flatten(0, 1)[:, None], flat).view(1, -1)
        assert flat.shape[0] == x.shape[0] * channels
        self.values = torch.cat([self.values, value])
        places = self.places.expand(-1, value.shape[1], -1)
        self.places = torch.cat([places, flat.view(1, -1, 2)])

    def height(self, plane: Tensor) -> Tensor:
        """A plane's value at the target."""
        target = self.target.view(*self.shape, 2) if len(self.target) > 1 else self.target[0]
        return plane[..., 0] + (plane[..., 1:] * target).sum(-1)


def _side(number: Tensor, last: int) -> Tensor:
    """-1 for the first, 1 for the last, 0 between."""
    return (number == last).to(torch.int8) - (number == 0).to(torch.int8)
