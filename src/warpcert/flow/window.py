"""Window: the rectangles that rows live on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.core.shapes import Float, Int


@dataclass(frozen=True, eq=False)
class Window:
    """For each row of each image the origin (top, left) of a rectangle; all are of one size.

    A row that is zero outside its rectangle can be minimised on it alone. That is sound, because
    it drops constraints. And nothing is lost where the regions' ends are gamma-Lipschitz and
    contain no displacement, as the threat's are: a field on the rectangle is extended by the
    nearest pixel's displacement, and clamping that to the regions keeps it gamma-Lipschitz.
    """

    top: Int[Tensor, "B R"]
    left: Int[Tensor, "B R"]
    height: int
    width: int

    @classmethod
    def around(cls, rows: Float[Tensor, "B R C H W"]) -> Window:
        """The smallest size that holds every row's non-zero entries, over all channels."""
        used = (rows.detach() != 0).any(2)
        (top, height), (left, width) = _extent(used.any(3)), _extent(used.any(2))
        size = torch.stack([height.amax(), width.amax()]).clamp(min=1).tolist()
        top = top.clamp(max=rows.shape[3] - size[0])
        left = left.clamp(max=rows.shape[4] - size[1])
        return cls(top, left, size[0], size[1])

    def __getitem__(self, part: slice) -> Window:
        """The windows of some of the rows."""
        return Window(self.top[:, part], self.left[:, part], self.height, self.width)

    def cut(self, x: Float[Tensor, "*N #B H W"], halo: int = 0) -> Float[Tensor, "*N B R _ _"]:
        """What every row's rectangle shows of its image, or of the one image that all share.

        ``halo``: how many pixels the images, and then the rectangles too, have more on each side.
        """
        height, width = x.shape[-2:]
        batch = self.top.shape[0]
        first = torch.arange(batch, device=self.top.device) * (height * width)
        where = first[:, None, None, None] + self._places(width, halo)
        planes = x.expand(*x.shape[:-3], batch, height, width).reshape(-1, batch * height * width)
        return planes.index_select(1, where.flatten()).reshape(*x.shape[:-3], *where.shape)

    def cut_rows(self, rows: Float[Tensor, "B R C H W"]) -> Float[Tensor, "B R C h w"]:
        """Every row on its own rectangle."""
        where = self._places_in(rows)
        return rows.flatten(3).gather(3, where).unflatten(3, (self.height, self.width))

    def paste(
        self, parts: Float[Tensor, "B R C h w"], whole: Float[Tensor, "B R C H W"]
    ) -> Float[Tensor, "B R C H W"]:
        """Put every row's rectangle back into a whole image."""
        where = self._places_in(whole)
        return whole.flatten(3).scatter(3, where, parts.flatten(3)).view(whole.shape)

    def _places(self, width: int, halo: int = 0) -> Int[Tensor, "B R _ _"]:
        """Flat indices of the pixels of each rectangle, in images of a width."""
        down, across = (
            torch.arange(side + 2 * halo, device=self.top.device)
            for side in (self.height, self.width)
        )
        corner = (self.top * width + self.left)[..., None, None]
        return corner + down[:, None] * width + across

    def _places_in(self, rows: Tensor) -> Int[Tensor, "B R C _"]:
        """The same, for each channel of rows."""
        where = self._places(rows.shape[-1]).flatten(2)[:, :, None]
        return where.expand(-1, -1, rows.shape[2], -1)


def _extent(used: Tensor) -> tuple[Tensor, Tensor]:
    """First place and length of what is used along the last axis; 0 and 0 if nothing is."""
    length = used.shape[-1]
    places = torch.arange(length, device=used.device)
    first = torch.where(used, places, length).amin(-1)
    last = torch.where(used, places, -1).amax(-1)
    count = (last - first + 1).clamp(min=0)
    return torch.where(count > 0, first, 0), count
