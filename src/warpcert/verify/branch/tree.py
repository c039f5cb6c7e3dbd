"""Tree: branch on the field and on neurons until an image is decided."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import torch
from torch import Tensor

from warpcert.bound import Bounds, DeepPoly, IntervalPropagation
from warpcert.core.clock import tick
from warpcert.core.progress import Progress, tell
from warpcert.core.shapes import Float
from warpcert.flow import Threat
from warpcert.flow.split import whole
from warpcert.net import Network
from warpcert.verify.branch.cell import Cell, layers_of, stack
from warpcert.verify.branch.costs import Costs
from warpcert.verify.branch.effort import Effort
from warpcert.verify.branch.garden import Garden
from warpcert.verify.branch.hunt import Hunt
from warpcert.verify.branch.ledger import Ledger
from warpcert.verify.branch.proof import Proof
from warpcert.verify.branch.scene import Scene
from warpcert.verify.branch.slicer import Slicer

LINEAR = 0.75
"""Back-substitution is used on cells where it leaves no more than this share of the whole threat's
gap; where intervals are nearly as good, they are ten times as quick."""

FEW = 256.0
"""No more cells than that, by the first cut's gain, are cut by intervals at once."""

ROWS = 600
"""How many rows are substituted back in the time of a pass of intervals, about."""

SOON = 0.2
"""Seconds that asking lines may take to be done at once; else not before as much was spent."""

MOST = 1e4
"""More cells than that, by the first cut's gain, are not cut by intervals alone."""

LATER = 4.0
"""How many times longer than bounding neurons over the whole coupled set cells have been cut before
that is tried."""

DEARER = 20.0
"""How many times longer it takes to bound all neurons over the coupled set than once by lines.
Measured on one core: 10 to 20 times for colour networks and large ones, 50 to 60 times for small
networks of digits, where both are short."""

STRONG, ATTACKS = 1.0, 50
"""Seconds of work on an image before all attacks are tried, and how many passes of intervals more:
about as long as they take."""


class Tree:
    """One image's problem, cut along the field into cells and, in those, along neurons.

    Cells cover all fields of the threat, and nodes of a cell all signs of its open neurons, so the
    least bound of all leaves holds for the image: see `Ledger`. A `Slicer` cuts cells that
    intervals bound; where lines say much more than these (``linear``), a `Garden` cuts cells and
    decides neurons on them.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - a problem, and how it is to be solved
        self,
        network: Network,
        image: Float[Tensor, "1 C H W"],
        label: Tensor,
        threat: Threat,
        rows: Float[Tensor, "1 S classes"],
        effort: Effort,
        known: Bounds,
        proof: Proof | None = None,
    ) -> None:
        self.scene, self.proof = Scene(network, image, threat, rows, effort), proof
        self.hunt, self.costs = Hunt(network, image, label, threat), Costs()
        shape = (image.shape[2], image.shape[3])
        lower, upper = (x[0].to(image.device) for x in whole(threat, shape)[:2])
        margins = known.margins[0].nan_to_num(nan=-math.inf)  # no number, no proof
        root = Cell(lower, upper, layers_of(known, 0), margins)
        self.ledger = Ledger(self.scene, root, proof)
        self.slicer = Slicer(self.ledger, self.hunt, self.costs)
        self.garden = Garden(self.ledger, self.hunt, self.costs)
        self.linear, self.judged, self.strong = True, False, False
        self.alone = -math.inf

    @property
    def open(self) -> int:
        """Cells and nodes that are not closed."""
        return self.ledger.open

    @property
    def margins(self) -> Float[Tensor, " S"]:
        """Proved lower bounds of all margins, with what is open as far as it is known."""
        return self.ledger.margins

    def grow(self) -> None:
        """Work until nothing is open or a field is found; the clock may end it at any time.

        Cells that were given up are open as well, while free pixels may still prove the whole.
        """
        self.costs.start = time.perf_counter()
        ledger, garden = self.ledger, self.garden
        if self.scene.fields:
            self._begin()
            if self.linear:
                garden.begin_aside()
        while not self.hunt.fooled:
            busy, aside = bool(ledger.cells or ledger.plots), garden.aside
            if not busy and not (ledger.stopped and aside is not None):
                break
            tick()
            if not self.strong and self.costs.elapsed > STRONG + ATTACKS * self.costs.interval:
                self.strong = True
                self.hunt.try_hard()
            elif aside is not None and (not busy or aside.due(self.costs.elapsed)):
                garden.look_aside(aside)
            elif not ledger.cells:
                garden.tend()
            elif self.linear:
                garden.sift()
            else:
                self._slice()
            tell(lambda: Progress(self.open, float(self.margins.min())))

    def _begin(self) -> None:
        """Try cuts by intervals; where few should do, make them, else see what lines say.

        A proof that is kept has what lines say of the whole before all cuts.
        """
        scene, costs, start = self.scene, self.costs, time.perf_counter()
        box = scene.inputs([self.ledger.root], coupled=False)
        alone = IntervalPropagation()(scene.network, box, scene.rows).margins
        costs.interval = time.perf_counter() - start
        costs.lines = costs.interval * scene.network.entries / ROWS
        self.alone, should = float(alone.min()), self.slicer.begin()
        self.linear = False
        if should > FEW or costs.lines < SOON or self.proof is not None:
            self._judge()
        if not self.linear and should > MOST:
            self.linear = self.strong = True
            self.hunt.try_hard()

    def _judge(self) -> None:
        """See whether lines say more of the whole threat than intervals alone do.

        What they prove of it holds on every cell, because each is a part of the threat.
        """
        self.judged = True
        scene, costs, root = self.scene, self.costs, self.ledger.root
        start, box = time.perf_counter(), scene.inputs([root], coupled=False)
        found = DeepPoly()(scene.network, box, scene.rows, stack([root]))
        costs.full = max(costs.full, DEARER * (time.perf_counter() - start))
        margins = torch.maximum(root.margins, found.margins[0].nan_to_num(nan=-math.inf))
        loose = float(found.margins.min())
        root = replace(root, layers=layers_of(found, 0), margins=margins, loose=loose)
        self.ledger.know(root)
        self.linear = not (scene.effort.trials and root.worst < LINEAR * self.alone)

    def _slice(self) -> None:
        """Cut cells that intervals bound.

        When that takes longer than it should, lines are asked after all. After as long as it takes
        to bound the whole threat's neurons in full, that is done once.
        """
        costs, able = self.costs, self.scene.sets and self.proof is None
        if not self.judged and costs.elapsed > costs.lines:
            self._judge()
        elif able and not self.slicer.refined and costs.elapsed > LATER * costs.full:
            self._strengthen()
        else:
            self.slicer.round()

    def _strengthen(self) -> None:
        """Bound the neurons of the whole threat with its duals, for all cells.

        Sound, because every cell is a part of the threat, so that what holds there holds on it.
        """
        self.slicer.refined = True
        self.ledger.know(*self.garden.plant(self.ledger.root, full=True))
