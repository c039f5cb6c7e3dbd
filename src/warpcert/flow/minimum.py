"""The lowest value that each pixel, or a combination of its channels, takes over its region."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as nn
from torch import Tensor

from warpcert.core.errors import Unsound
from warpcert.core.shapes import Float
from warpcert.flow.arc import half_angle, lowest_on_arc, may_dip
from warpcert.flow.cells import Cell, cells
from warpcert.flow.region import Region

WORKING_ARRAYS = 64
"""Float64 arrays of the result's size that `lowest` needs at most, about; measured for norm 2."""

MANY = 1 << 16
"""Curves that are worth a call of their own."""


def lowest(
    images: Float[Tensor, "B C H W"],
    region: Region,
    rows: Float[Tensor, "B R C h w"] | None = None,
    slope: Float[Tensor, "#B #X h w 2"] | None = None,
    track: bool = False,
    halo: int = 0,
) -> tuple[Float[Tensor, "B X h w"], Float[Tensor, "B X h w 2"] | None]:
    """Minimise ``sum_c rows_c x_c(v) + slope . v`` over the region of every pixel, in float64.

    Without ``rows`` each channel is on its own (X = C), with them all channels of a pixel move
    together (X = R). With ``track`` the minimising displacements come too. The result is the
    true minimum up to `rounding.geometry` times the largest value, by the argument in `cells`:
    a minimum over a cell lies at one of its corners or on its outer curve, and both are searched
    in full. Every value considered is attained (up to rounding), so nothing undershoots either.

    ``halo``: how many pixels the images have more than the result on each side, for parts cut out
    of larger images; the region must not reach further. Without it the edge's values go on.
    """
    search = _Search(images, region, rows, slope, track, halo)
    pieces = list(cells(region, *search.lengths))
    for cell in pieces:
        search.corners(cell)
    search.curves(pieces)
    if not bool(torch.isfinite(search.value).all()):
        raise Unsound("a pixel's region met no cell, or its values are no numbers")
    return search.value, search.displacement


@dataclass(frozen=True, eq=False)
class _Curve:
    """A cell's outer curve for some pixels, given by their flat ``index``.

    There the objective is constant + b s + c t + d s t with (s, t) = (v, w) - (column, row);
    ``numbers`` are b, c, d, column, row and the curve's ends p and q, each of shape (n,).
    """

    cell: Cell
    index: Tensor
    constant: Tensor
    numbers: tuple[Tensor, ...]


class _Search:
    """The best value found so far, and where."""

    def __init__(
        self,
        images: Tensor,
        region: Region,
        rows: Tensor | None,
        slope: Tensor | None,
        track: bool,
        halo: int,
    ) -> None:
        self.height, self.width = (side - 2 * halo for side in images.shape[-2:])
        self.region, self.rows, self.slope = region, rows, slope
        # Within a halo no cell is the last one before everything is alike.
        self.lengths = (halo + 1, halo + 1) if halo else (self.height, self.width)
        x, y = region.reach(0, self.lengths[1]), region.reach(1, self.lengths[0])
        if halo:
            self.left, self.top, self.padded = halo, halo, images.contiguous()
        else:
            self.left, self.top = max(0, -x.start), max(0, -y.start)
            margin = (self.left, max(0, x.stop), self.top, max(0, y.stop))
            self.padded = nn.pad(images, margin, mode="replicate")
        leading = (images if rows is None else rows).shape[:2]
        shape = (*leading, self.height, self.width)
        self.value = images.new_full(shape, math.inf)
        self.displacement = images.new_zeros((*shape, 2)) if track else None
        self.seen: set[tuple[float, float]] = set()

    def corners(self, cell: Cell) -> None:
        """Try the five corners of a cell; those shared by all pixels only once."""
        for v, w in cell.corners:
            if self.region.uniform:
                point = (cell.across * float(v), cell.down * float(w))
                if point in self.seen:
                    continue
                self.seen.add(point)
            self._offer(self._at(cell, v, w), cell, v, w)

    def curves(self, pieces: list[Cell]) -> None:
        """Try the insides of all outer curves together: few long vectors beat many short ones."""
        if self.region.norm == math.inf:
            return
        found: list[_Curve] = []
        for cell in pieces:
            found += self._curve(cell)
            if sum(curve.index.numel() for curve in found) > max(self.value.numel(), MANY):
                self._solve(found)
                found = []
        if found:
            self._solve(found)

    def _solve(self, found: list[_Curve]) -> None:
        """Find the lowest points inside curves, and enter their values."""
        together = [torch.cat(parts) for parts in zip(*(c.numbers for c in found), strict=True)]
        v, w = self._diagonal(*together) if self.region.norm == 1 else self._arc(*together)
        sizes = [curve.index.numel() for curve in found]
        for curve, x, y in zip(found, v.split(sizes), w.split(sizes), strict=True):
            self._update(curve, x, y)

    def _curve(self, cell: Cell) -> list[_Curve]:
        """A cell's outer curve for the pixels where it may hold the minimum, if there are any.

        On the rectangle around the piece the objective is least at a corner. Three of them have
        been tried, so only where the fourth, (v1, w1), is lower can the curve be.
        """
        if not bool(cell.curved.any()):
            return []
        hopeful = self._at(cell, cell.v1, cell.w1) < self.value
        if not self.region.uniform:
            hopeful &= cell.curved
        index = hopeful.flatten().nonzero().squeeze(1)
        u, b, c, d = self._coefficients(cell, index)
        keep = self._may_hold_minimum(cell, b, c, d).nonzero().squeeze(1)
        index, u, b, c, d = (x[keep] for x in (index, u, b, c, d))
        if not index.numel():
            return []
        corner = torch.tensor([cell.column, cell.row], dtype=d.dtype)
        rest = (self._pick(x, index) for x in (*corner, *cell.p, *cell.q))
        return [_Curve(cell, index, u, (b, c, d, *rest))]

    def _coefficients(self, cell: Cell, index: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """u, b, c, d of some pixels: the objective on the cell is u + b s + c t + d s t."""
        area = self.height * self.width
        block, pixel = index // area, index % area
        row, column = pixel // self.width, pixel % self.width
        place = (row + self.top) * self.padded.shape[-1] + column + self.left
        u, across, down, both = (
            self._neighbours(offset, block, pixel, place) for offset in cell.offsets
        )
        b, c = across - u, down - u
        d = (both - down) - b
        if self.slope is not None:
            dx, dy = (self._pick(self.slope[..., axis], index) for axis in (0, 1))
            b, c = b + cell.across * dx, c + cell.down * dy
            u = u + cell.across * cell.column * dx + cell.down * cell.row * dy
        return u, b, c, d

    def _neighbours(
        self, offset: tuple[int, int], block: Tensor, pixel: Tensor, place: Tensor
    ) -> Tensor:
        """What `_combine` of `_shifted` holds for some pixels, without computing the rest.

        ``block`` counts the images' channels, or the rows; ``place`` is the pixel's own place in
        the padded plane.
        """
        flat, size = self.padded.view(-1), self.padded.shape[-2] * self.padded.shape[-1]
        place = place + offset[1] * self.padded.shape[-1] + offset[0]
        if self.rows is None:
            return flat[block * size + place]
        count, channels = self.rows.shape[1:3]
        weights, area = self.rows.reshape(-1), self.height * self.width
        terms = [
            weights[(block * channels + channel) * area + pixel]
            * flat[((block // count) * channels + channel) * size + place]
            for channel in range(channels)
        ]
        return torch.stack(terms).sum(0) if channels > 1 else terms[0]

    def _pick(self, x: Tensor, index: Tensor) -> Tensor:
        """Some entries of an array that is broadcast to the result's shape."""
        if x.dim() == 0:
            return x.to(index.device).expand_as(index)
        return x.expand_as(self.value).flatten()[index]

    def _may_hold_minimum(self, cell: Cell, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
        """Whether the objective can have a minimum inside the curve at all."""
        if self.region.norm == 1:
            return d < 0  # else the parabola is concave
        return may_dip(*self._about_pixel(b, c, d, cell.column, cell.row))

    def _about_pixel(
        self, b: Tensor, c: Tensor, d: Tensor, column: Tensor | int, row: Tensor | int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Coefficients on the circle, with the pixel instead of the cell's corner as origin."""
        delta = self.region.delta
        return (b - d * row) * delta, (c - d * column) * delta, d * delta * delta

    def _diagonal(
        self,
        b: Tensor,
        c: Tensor,
        d: Tensor,
        column: Tensor,
        row: Tensor,
        *ends: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The vertex of the parabola on v + w = delta, kept on the edge from p to q."""
        length = self.region.delta - column - row
        vertex = (b - c + d * length) / (2 * torch.where(d == 0, 1.0, d))
        v = torch.clamp(vertex + column, ends[2], ends[0])
        return v, self.region.delta - v

    def _arc(
        self,
        b: Tensor,
        c: Tensor,
        d: Tensor,
        column: Tensor,
        row: Tensor,
        *ends: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The lowest point inside the arc from p to q."""
        delta = self.region.delta
        start, end = half_angle(*ends[:2]), half_angle(*ends[2:])
        cos, sin = lowest_on_arc(*self._about_pixel(b, c, d, column, row), start, end)
        return delta * cos, delta * sin

    def _update(self, curve: _Curve, v: Tensor, w: Tensor) -> None:
        """Enter values found for some of the pixels."""
        cell, (b, c, d) = curve.cell, curve.numbers[:3]
        s, t = v - cell.column, w - cell.row
        value = curve.constant + b * s + c * t + d * s * t
        flat = self.value.view(-1)
        old = flat[curve.index]
        better = value < old
        flat[curve.index] = torch.where(better, value, old)
        if self.displacement is not None:
            found = torch.stack([cell.across * v, cell.down * w], dim=-1)
            self.displacement.view(-1, 2)[curve.index[better]] = found[better]

    def _offer(self, value: Tensor, cell: Cell, v: Tensor, w: Tensor) -> None:
        """Enter values found for all pixels."""
        if self.displacement is not None:
            better = value < self.value
            for axis, x in enumerate((cell.across * v, cell.down * w)):
                old = self.displacement[..., axis]
                old.copy_(torch.where(better, x.to(old.device), old))
        torch.minimum(self.value, value, out=self.value)

    def _at(self, cell: Cell, v: Tensor, w: Tensor) -> Tensor:
        """The objective at a point of the cell; infinite for pixels without that cell."""
        near, across, down, both = (self._shifted(offset) for offset in cell.offsets)
        s, t = v - cell.column, w - cell.row
        if self.region.uniform:
            top = _between(near, across, float(s))
            value = _between(top, _between(down, both, float(s)) if t else top, float(t))
        else:
            s, t = (x.clamp(min=0) for x in (s, t))
            value = torch.lerp(torch.lerp(near, across, s), torch.lerp(down, both, s), t)
        value = self._combine(value)
        if self.slope is not None:
            dx, dy = (x.to(value.device) for x in (cell.across * v, cell.down * w))
            value = value + self.slope[..., 0] * dx + self.slope[..., 1] * dy
        return value if self.region.uniform else torch.where(cell.valid, value, math.inf)

    def _shifted(self, offset: tuple[int, int]) -> Tensor:
        """Every pixel's neighbour at a grid offset (x, y), beyond the edge the edge's own value."""
        y, x = self.top + offset[1], self.left + offset[0]
        return self.padded[..., y : y + self.height, x : x + self.width]

    def _combine(self, x: Tensor) -> Tensor:
        """Sum over the channels, weighted by the rows."""
        if self.rows is None:
            return x
        total = self.rows[:, :, 0] * x[:, None, 0]
        for channel in range(1, x.shape[1]):
            total.addcmul_(self.rows[:, :, channel], x[:, None, channel])
        return total


def _between(a: Tensor, b: Tensor, weight: float) -> Tensor:
    """Interpolate, without arithmetic at the ends."""
    if weight == 0:
        return a
    return b if weight == 1 else torch.lerp(a, b, weight)
