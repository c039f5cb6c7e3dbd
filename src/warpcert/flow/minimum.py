"""The lowest value that each pixel, or a combination of its channels, takes over its region."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as nn
from torch import Tensor

from warpcert.core.shapes import Float
from warpcert.flow.arc import half_angle, lowest_on_arc
from warpcert.flow.cells import Cell, cells
from warpcert.flow.region import Region


def lowest(
    images: Float[Tensor, "B C H W"],
    region: Region,
    rows: Float[Tensor, "B R C H W"] | None = None,
    slope: Float[Tensor, "#B #X H W 2"] | None = None,
    track: bool = False,
) -> tuple[Float[Tensor, "B X H W"], Float[Tensor, "B X H W 2"] | None]:
    """Minimise ``sum_c rows_c x_c(v) + slope . v`` over the region of every pixel, in float64.

    Without ``rows`` each channel is on its own (X = C), with them all channels of a pixel move
    together (X = R). With ``track`` the minimising displacements come too. The result is the
    true minimum up to `rounding.geometry` times the largest value, by the argument in `cells`:
    a minimum over a cell lies at one of its corners or on its outer curve, and both are searched
    in full. Every value considered is attained (up to rounding), so nothing undershoots either.
    """
    height, width = images.shape[-2:]
    search = _Search(images, region, rows, slope, track)
    pieces = list(cells(region, height, width))
    for cell in pieces:
        search.corners(cell)
    if region.norm != math.inf:
        for cell in pieces:
            search.curve(cell)
    return search.value, search.displacement


class _Search:
    """The best value found so far, and where."""

    def __init__(
        self,
        images: Tensor,
        region: Region,
        rows: Tensor | None,
        slope: Tensor | None,
        track: bool,
    ) -> None:
        self.height, self.width = images.shape[-2:]
        self.region, self.rows, self.slope = region, rows, slope
        x, y = region.reach(0, self.width), region.reach(1, self.height)
        self.left, self.top = max(0, -x.start), max(0, -y.start)
        margin = (self.left, max(0, x.stop), self.top, max(0, y.stop))
        self.padded = nn.pad(images, margin, mode="replicate")
        shape = images.shape if rows is None else rows.shape[:2] + images.shape[2:]
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

    def curve(self, cell: Cell) -> None:
        """Try the inside of a cell's outer curve."""
        if not bool(cell.curved.any()):
            return
        near, across, down, both = (self._combined(offset) for offset in cell.offsets)
        if self.region.uniform and self.slope is None:
            floor = torch.minimum(torch.minimum(near, across), torch.minimum(down, both))
            hopeful = floor < self.value  # interpolation never goes below the lowest corner
        else:
            hopeful = cell.curved.to(near.device).expand_as(near)
        index = hopeful.flatten().nonzero().squeeze(1)
        if not index.numel():
            return

        def pick(x: Tensor) -> Tensor:
            x = x.to(near.device)
            return x[None] if x.dim() == 0 else x.expand_as(near).flatten()[index]

        u, b, c, both = (pick(x) for x in (near, across, down, both))
        b, c, d = b - u, c - u, (both - c) - (b - u)
        if self.slope is not None:
            b = b + cell.across * pick(self.slope[..., 0])
            c = c + cell.down * pick(self.slope[..., 1])
            u = u + cell.across * cell.column * pick(self.slope[..., 0])
            u = u + cell.down * cell.row * pick(self.slope[..., 1])
        if self.region.norm == 1:
            s, t = self._diagonal(cell, b, c, d, pick)
        else:
            s, t = self._arc(cell, b, c, d, pick)
        self._update(index, u + b * s + c * t + d * s * t, cell, s, t)

    def _diagonal(
        self, cell: Cell, b: Tensor, c: Tensor, d: Tensor, pick: Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The vertex of the parabola on s + t = length, kept on the edge from p to q."""
        length = self.region.delta - cell.column - cell.row
        vertex = (b - c + d * length) / (2 * torch.where(d == 0, 1.0, d))
        s = torch.clamp(vertex, pick(cell.q[0]) - cell.column, pick(cell.p[0]) - cell.column)
        return s, length - s

    def _arc(
        self, cell: Cell, b: Tensor, c: Tensor, d: Tensor, pick: Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The lowest point inside the arc from p to q."""
        delta = self.region.delta
        start = half_angle(pick(cell.p[0]), pick(cell.p[1]))
        end = half_angle(pick(cell.q[0]), pick(cell.q[1]))
        about_pixel = (b - d * cell.row) * delta, (c - d * cell.column) * delta
        cos, sin = lowest_on_arc(*about_pixel, d * delta * delta, start, end)
        return delta * cos - cell.column, delta * sin - cell.row

    def _update(self, index: Tensor, value: Tensor, cell: Cell, s: Tensor, t: Tensor) -> None:
        """Enter values found for some of the pixels."""
        flat = self.value.view(-1)
        old = flat[index]
        better = value < old
        flat[index] = torch.where(better, value, old)
        if self.displacement is not None:
            found = torch.stack(
                [cell.across * (s + cell.column), cell.down * (t + cell.row)], dim=-1
            )
            self.displacement.view(-1, 2)[index[better]] = found[better]

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

    def _combined(self, offset: tuple[int, int]) -> Tensor:
        return self._combine(self._shifted(offset))

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
