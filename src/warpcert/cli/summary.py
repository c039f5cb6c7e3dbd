"""`Summary`: the pixel bounds of one image, or of several, in three numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpcert.core import Interval


@dataclass(frozen=True)
class Summary:
    """How far bending can change pixels.

    ``mean_width``: the mean over all pixels and channels of the interval's width; ``max_width``:
    the largest; ``fixed``: the share of pixels none of whose channels can change.
    """

    mean_width: float
    max_width: float
    fixed: float

    @property
    def cells(self) -> tuple[str, str, str]:
        """The numbers as people read them."""
        return f"{self.mean_width:.4f}", f"{self.max_width:.4f}", f"{self.fixed:.1%}"

    @property
    def json(self) -> dict[str, float]:
        """The numbers as programs read them."""
        return asdict(self)


def summarise(box: Interval, index: int | None = None) -> Summary:
    """The summary of all images of a box (B, C, H, W), or of one."""
    chosen = slice(None) if index is None else slice(index, index + 1)
    width = box.width[chosen].double()
    fixed = (width.amax(1) == 0).double()
    return Summary(float(width.mean()), float(width.max()), float(fixed.mean()))
