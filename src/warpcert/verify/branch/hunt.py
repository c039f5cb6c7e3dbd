"""Hunt: a field that changes the label, looked for where the tree's bounds are lowest."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from warpcert.attacks import STRONGEST, Attacked, ProjectedGradient
from warpcert.attacks.arithmetic import full_precision
from warpcert.attacks.boxed import reach
from warpcert.attacks.chase import Chase, Found
from warpcert.attacks.check import check
from warpcert.core import rounding
from warpcert.core.box import Box
from warpcert.core.shapes import Float
from warpcert.flow import DeformedImage, Threat
from warpcert.net import Network
from warpcert.verify.branch.cell import Cell

STARTS = 4
"""Cells of a batch from whose middle an attack starts."""

SHARE = 0.15
"""How much of a tree's time attacks from where its bounds are lowest may take."""


class Hunt:
    """Short attacks on one image (1, C, H, W), from points or fields that the tree hands over.

    ``found`` is the lowest margin so far that was tested, with its field; only a field of the
    whole threat that `check` confirms counts, wherever the search for it began.
    """

    def __init__(
        self, network: Network, image: Tensor, label: Tensor, threat: Threat, steps: int = 10
    ) -> None:
        self.network, self.labels = network, label.reshape(1)
        self.inputs = DeformedImage(image, threat)
        self.attack = ProjectedGradient(steps=steps, restarts=1)
        self.chase = Chase(network.to(dtype=torch.float32), self.inputs, self.labels)
        self.boxed = Chase(self.chase.network, Box(self.inputs.box), self.labels)
        self.found: Attacked | None = None
        self.reached = math.inf
        self.seconds, self.start = 0.0, time.perf_counter()

    @property
    def due(self) -> bool:
        """Whether attacks have had less than their share of the time since the beginning."""
        return self.seconds < SHARE * (time.perf_counter() - self.start)

    @contextmanager
    def clocked(self) -> Iterator[None]:
        """What is done in here counts as attacking."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start

    @property
    def fooled(self) -> bool:
        """Whether a field that changes the label was found."""
        return self.found is not None and bool(self.found.fooled[0])

    def margins_at(self, fields: Float[Tensor, "n H W 2"]) -> Float[Tensor, " n"]:
        """The margins of the image bent by fields that are brought into the threat, about."""
        every = self.chase.select(torch.zeros(len(fields), dtype=torch.int64, device=fields.device))
        return every.margins(self.inputs.project(fields.float()))

    def try_images(self, images: Float[Tensor, "n C H W"]) -> bool:
        """Go down from images in the box, where the set is its box; say whether one fools."""
        found = self._descend(self.boxed, images.float())
        if not self._promising(found):
            return False
        best = found.parameters[found.margins.argmin()][None]
        fields = self.inputs.project(reach(self.chase, best).float())
        return self._test(self.chase.found(fields))

    def fools_box(self, images: Float[Tensor, "n C H W"]) -> bool:
        """Go down from images in the box; say whether one gets another class, field or not."""
        return bool((self._descend(self.boxed, images.float()).margins < 0).any())

    def try_fields(self, fields: Float[Tensor, "n H W 2"]) -> bool:
        """Go down from fields; say whether one fools."""
        found = self._descend(self.chase, self.inputs.project(fields.float()))
        if not self._promising(found):
            return False
        best = int(found.margins.argmin())
        return self._test(Found(found.parameters[best : best + 1], found.margins[best : best + 1]))

    def try_middles(self, cells: Sequence[Cell]) -> list[float]:
        """The margins in the middle of cells; from the lowest ones an attack goes on."""
        if not cells:
            return []
        fields = torch.stack([cell.centre for cell in cells])
        margins = self.margins_at(fields)
        lowest = margins.topk(min(STARTS, len(cells)), largest=False).indices
        self.try_fields(fields[lowest])
        return margins.tolist()

    def try_hard(self) -> bool:
        """All attacks there are, on the whole threat; say whether one fools."""
        return self._enter(STRONGEST(self.network, self.inputs, self.labels))

    def _descend(self, chase: Chase, starts: Tensor) -> Found:
        every = chase.select(torch.zeros(len(starts), dtype=torch.int64, device=starts.device))
        with full_precision():
            return self.attack.descend(every, starts)

    def _promising(self, found: Found) -> bool:
        """Whether the best may fool, or is worth being told for how low it is."""
        lowest = float(found.margins.nan_to_num(math.inf).min())
        return lowest < min(rounding.CLEAR, self.reached - rounding.CLEAR)

    def _test(self, found: Found) -> bool:
        tested = check(
            self.network, self.inputs, self.labels, found.parameters.detach(), found.margins
        )
        return self._enter(tested)

    def _enter(self, tested: Attacked) -> bool:
        margin = float(tested.margins[0])
        if self.found is None or margin < float(self.found.margins[0]):
            self.found = tested
        self.reached = min(self.reached, margin)
        return self.fooled
