"""Costs: what the steps of a tree take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Costs:
    """Seconds by the last steps of each kind, and how long a tree has been at work.

    ``interval``: a pass of intervals; ``lines``: one of back-substitution, about; ``cell``: all
    that a cell takes; ``light`` and ``full``: planting over the box and over the coupled set;
    ``node``: deciding one neuron.
    """

    interval: float = 0.0
    lines: float = 0.0
    cell: float = 0.02
    light: float = 0.1
    full: float = 1.0
    node: float = 5e-4
    start: float = field(default_factory=time.perf_counter)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    def learn_cell(self, seconds: float) -> None:
        """What a cell takes, by the last ones."""
        self.cell = (self.cell + seconds) / 2

    def learn_planting(self, full: bool, seconds: float) -> None:
        """What a plot takes, by the last ones of its kind."""
        if full:
            self.full = (self.full + seconds) / 2
        else:
            self.light = (self.light + seconds) / 2
