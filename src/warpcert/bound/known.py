"""Known: what has been proved of a network's values so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from warpcert.core.interval import Interval
from warpcert.net import Activation, Band, Line, Network, affine_image


@dataclass
class Known:
    """Intervals (B, ...) of a network's values over an input set, from the input onwards.

    ``values[k]`` holds value k at every member of the set, in exact arithmetic. For an affine
    step k, ``sizes[k]`` is |W| |x| + |b|, which its rounding grows with; for an activation,
    ``bands[k]`` are the lines around it. It grows step by step, since a band is made for the best
    interval there is when its step is reached.
    """

    network: Network
    values: list[Interval]
    sizes: dict[int, Tensor] = field(default_factory=dict)
    bands: dict[int, Band] = field(default_factory=dict)

    def advance(self) -> None:
        """Bound the next step's output by the intervals of its inputs.

        Sound, because an affine step moves by at most |W| r when its inputs move by r, and an
        activation's least and greatest values on an interval are known; `rounding.affine` is
        added to both.
        """
        number = len(self.values)
        step = self.network.steps[number - 1]
        given = [self.values[k] for k in step.inputs]
        if isinstance(step.node, Activation):
            lower, upper = given[0].lower, given[0].upper
            band = step.node.band(lower, upper)
            self.bands[number] = band
            self.values.append(Interval(*step.node.image(lower, upper)))
        else:
            interval, self.sizes[number] = affine_image(step.node, given)
            self.values.append(interval)

    def tighten(self, value: int, lower: Tensor, upper: Tensor) -> None:
        """Intersect what is known of the newest value with other bounds of it.

        Two true intervals have a point in common, so an empty intersection raises `Unsound`.
        """
        old = self.values[value]
        self.replace(value, torch.maximum(old.lower, lower), torch.minimum(old.upper, upper))

    def replace(self, value: int, lower: Tensor, upper: Tensor) -> None:
        """Forget what is known of the newest value, and take other bounds of it."""
        if value != len(self.values) - 1:
            raise ValueError(f"value {value} has been used already")
        self.values[value] = Interval(lower, upper)

    def select(self, images: Tensor) -> Known:
        """What is known for some of the images."""
        return self._map(self.network, lambda x: x[images])

    def to(self, dtype: torch.dtype) -> Known:
        """The same in another dtype, for a search: rounded, so no longer proved."""
        return self._map(self.network.to(dtype=dtype), lambda x: x.to(dtype))

    def _map(self, network: Network, change: Callable[[Tensor], Tensor]) -> Known:
        def line(x: Line) -> Line:
            return Line(change(x.slope), change(x.intercept))

        return Known(
            network,
            [Interval(change(x.lower), change(x.upper)) for x in self.values],
            {k: change(size) for k, size in self.sizes.items()},
            {k: Band(line(band.below), line(band.above)) for k, band in self.bands.items()},
        )
