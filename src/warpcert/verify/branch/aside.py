"""Aside: the whole threat with every pixel free, decided beside the tree."""

from __future__ import annotations

import time

import torch
from torch import Tensor

from warpcert.core.shapes import Float
from warpcert.flow import Threat
from warpcert.verify.branch.hunt import Hunt
from warpcert.verify.branch.plot import Plot

SHARE = 0.2
"""Of a tree's time. Measured at gamma 0.1 and 0.3, on digits that take ten seconds and more: half
of it is no better for those that free pixels prove, and costs the others a third of their time."""


def is_far(threat: Threat, images: Float[Tensor, "N C H W"]) -> bool:
    """Whether pixels half an image apart can move against each other as they like."""
    if not threat.gamma:
        return False
    steps = 2 * threat.delta / threat.gamma
    return 2 * steps < min(images.shape[2:])


class Aside:
    """A plot over the box of all pixels, in which each moves by itself.

    The box holds every image of the threat, so what is proved there holds for it. Nodes over a box
    are bounded many times quicker than over coupled pixels, and where gamma couples near ones alone
    little may be missing: so this goes on beside the tree, until it is proved or an image is found
    in the box, bent by a field of the threat or not, that has another class. The first ``head``
    seconds are its own.
    """

    def __init__(self, plot: Plot, hunt: Hunt, head: float = 0.0) -> None:
        self.plot, self.hunt, self.head = plot, hunt, head
        self.seconds = plot.seconds

    def due(self, elapsed: float) -> bool:
        """Whether it has had less than its share of so many seconds."""
        return self.seconds < max(self.head, SHARE * elapsed)

    def round(self) -> bool:
        """Work for a while; say whether that was the last time."""
        start, plot = time.perf_counter(), self.plot
        fooled = False
        if plot.promising is not None and self.hunt.due:
            points, _ = plot.promising
            plot.promising = None
            with self.hunt.clocked():
                images = plot.reduced.image(points, self.hunt.inputs.images[0])
                fooled = self.hunt.fools_box(images)
        if not fooled and not plot.done:
            plot.round()
        self.seconds += time.perf_counter() - start
        return fooled or plot.done or bool((plot.stuck < torch.inf).any())

    @property
    def margins(self) -> Float[Tensor, " S"]:
        """Proved lower bounds of all margins of the threat."""
        return self.plot.margins
