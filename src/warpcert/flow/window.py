"""Window: the rectangles that rows live on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.core.shapes import Float, Int


@dataclass(frozen=True, eq=False)
class Window:
    """For each row the origin (top, left) of a rectangle; all rectangles are of one size.

    A row that is zero outside its rectangle can be minimised on it alone. That is sound, because
    it drops constraints. And nothing is lost where the regions' ends are gamma-Lipschitz and
    contain no displacement, as the threat's are: a field on the rectangle is extended by the
    nearest pixel's displacement, and clamping that to the regions keeps it gamma-Lipschitz.
    """

    top: Int[Tensor, " R"]
    left: Int[Tensor, " R"]
    height: int
    width: int

    @classmethod
    def around(cls, rows: Float[Tensor, "B R C H W"]) -> Window:
        """The smallest size that holds each row's non-zero entries, over batch and channels."""
        used = (rows.detach() != 0).any(2).any(0)
        (top, height), (left, width) = _extent(used.any(2)), _extent(used.any(1))
        size = torch.stack([height.amax(), width.amax()]).clamp(min=1).tolist()
        top = top.clamp(max=rows.shape[3] - size[0])
        left = left.clamp(max=rows.shape[4] - size[1])
        return cls(top, left, size[0], size[1])

    def __getitem__(self, part: slice) -> Window:
        """The windows of some of the rows."""
        return Window(self.top[part], self.left[part], self.height, self.width)

    def cut(self, x: Float[Tensor, "*N H W"], halo: int = 0) -> Float[Tensor, "*N R h w"]:
        """What every row's rectangle shows of an image, beyond the edge the edge's own value."""
        y, x_ = self._places(x, halo)
        return x[..., y[:, :, None], x_[:, None, :]]

    def cut_rows(self, rows: Float[Tensor, "B R C H W"]) -> Float[Tensor, "B R C h w"]:
        """Every row on its own rectangle."""
        y, x = self._places(rows, 0)
        which = torch.arange(rows.shape[1], device=rows.device)[:, None, None]
        return rows.movedim(2, 0)[:, :, which, y[:, :, None], x[:, None, :]].movedim(0, 2)

    def paste(
        self, parts: Float[Tensor, "B R C h w"], whole: Float[Tensor, "B R C H W"]
    ) -> Float[Tensor, "B R C H W"]:
        """Put every row's rectangle back into a whole image."""
        y, x = self._places(whole, 0)
        which = torch.arange(whole.shape[1], device=whole.device)[:, None, None]
        target = whole.clone().movedim(2, 0)
        target[:, :, which, y[:, :, None], x[:, None, :]] = parts.movedim(2, 0)
        return target.movedim(0, 2)

    def _places(self, x: Tensor, halo: int) -> tuple[Tensor, Tensor]:
        """Rows and columns of the image that belong to each rectangle."""
        return tuple(  # type: ignore[return-value]  # two of them
            (start[:, None] + torch.arange(-halo, side + halo, device=start.device)).clamp(
                0, length - 1
            )
            for start, side, length in (
                (self.top, self.height, x.shape[-2]),
                (self.left, self.width, x.shape[-1]),
            )
        )


def _extent(used: Tensor) -> tuple[Tensor, Tensor]:
    """First place and length of what is used along the last axis; 0 and 0 if nothing is."""
    length = used.shape[-1]
    places = torch.arange(length, device=used.device)
    first = torch.where(used, places, length).amin(-1)
    last = torch.where(used, places, -1).amax(-1)
    count = (last - first + 1).clamp(min=0)
    return torch.where(count > 0, first, 0), count
