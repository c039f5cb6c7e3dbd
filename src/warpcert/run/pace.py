"""Pace: how many images to treat at once."""

from __future__ import annotations

from typing import final

import torch


@final
class Pace:
    """Lets batches grow while they take less than a second or so.

    Large batches are quicker, small ones let a display move, lose little in a crash and leave no
    process alone with the rest. A CPU gains little from large ones, and one hard image holds up
    all that it came with: there, images that have a time limit come alone, so that each has its
    own and no other's.
    """

    seconds = 1.0

    def __init__(self, device: str, timeout: float | None, most: int | None = None) -> None:
        self.size = 1
        self.most = 256
        if torch.device(device).type == "cpu":
            self.most = 8 if timeout is None else 1
        if most is not None:
            self.most = min(self.most, most)

    def note(self, count: int, seconds: float) -> None:
        """Learn from a batch; growth is at most fourfold, for an easy image may mislead."""
        possible = int(count * self.seconds / max(seconds, 1e-3))
        self.size = max(1, min(possible, 4 * self.size, self.most))
