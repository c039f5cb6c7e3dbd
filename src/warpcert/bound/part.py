"""Part: some rows of some images, as many as memory holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.core import memory
from warpcert.core.clock import tick
from warpcert.core.shapes import Bool, Int


@dataclass(frozen=True, eq=False)
class Part:
    """Images by number (n,), and as many entries of a layer (n, r) for each, by flat index.

    Images with fewer entries repeat one of them.
    """

    images: Int[Tensor, " n"]
    entries: Int[Tensor, "n r"]

    def halves(self) -> tuple[Part, Part]:
        """Half of the images each or, of a single one, half of the entries."""
        count, rows = self.entries.shape
        if count > 1:
            low, high = slice(0, count // 2), slice(count // 2, None)
            return (
                Part(self.images[low], self.entries[low]),
                Part(self.images[high], self.entries[high]),
            )
        return (
            Part(self.images, self.entries[:, : rows // 2]),
            Part(self.images, self.entries[:, rows // 2 :]),
        )


def parts(wanted: Bool[Tensor, "B N"], size: int) -> Iterator[Part]:
    """All wanted entries, in parts of about ``size`` rows, images with like counts together."""
    counts = wanted.sum(1)
    order = torch.argsort(counts, descending=True)
    todo = order[counts[order] > 0]
    while todo.numel():
        most = int(counts[todo[0]])
        images = todo[: max(1, size // most)]
        entries = _entries(wanted[images], most)
        for start in range(0, most, size):
            yield Part(images, entries[:, start : start + size])
        todo = todo[images.numel() :]


def spare(work: Callable[[Part], None], part: Part) -> None:
    """Do the work on a part; where memory runs out, on its halves, down to single rows."""
    tick()
    try:
        work(part)
        return
    except (RuntimeError, MemoryError) as error:
        if not memory.is_shortage(error) or part.entries.numel() == 1:
            raise
    memory.release(part.images.device)
    for half in part.halves():
        spare(work, half)


def _entries(wanted: Tensor, most: int) -> Tensor:
    """Flat indices (n, most) of the wanted entries; where there are fewer, the first again."""
    order = torch.argsort(wanted.to(torch.int8), dim=1, descending=True, stable=True)[:, :most]
    real = torch.gather(wanted, 1, order)
    return torch.where(real, order, order[:, :1])
