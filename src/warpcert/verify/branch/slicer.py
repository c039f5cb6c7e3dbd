"""Slicer: cells that intervals bound, each cut where trying says it is best."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cached_property

from warpcert.bound import IntervalPropagation
from warpcert.core.rounding import LEVEL
from warpcert.verify.branch.costs import Costs
from warpcert.verify.branch.glance import Glance
from warpcert.verify.branch.hunt import Hunt
from warpcert.verify.branch.ledger import Ledger
from warpcert.verify.branch.trial import Trial

WIDELY = 8
"""How many times more cells and cuts a GPU treats at once."""

CROWD = 16
"""How many times more cells than `Effort` says may wait before cells are given up. Before that,
those nearest to a proof come first."""


class Slicer:
    """Works on the waiting cells of a ledger by intervals alone.

    ``refined`` says that neurons of the whole threat have been bounded over the coupled set, so
    that trying cuts should look at what cells know.
    """

    def __init__(self, ledger: Ledger, hunt: Hunt, costs: Costs) -> None:
        self.ledger, self.scene = ledger, ledger.scene
        self.hunt, self.costs = hunt, costs
        self.refined = False
        self.widely = 1 if self.scene.image.device.type == "cpu" else WIDELY

    def begin(self) -> float:
        """Try all cuts of the whole; say how many cells the best one should lead to."""
        if not self.scene.effort.trials:
            return math.inf
        ledger = self.ledger
        (tried,) = self._trial(ledger.cells, self.refined)
        ledger.cells = [replace(ledger.root, order=tried.order)]
        return float(tried.cells)

    def round(self) -> None:
        """Bound a batch of cells; cut those that stay open, each where it is best."""
        ledger, effort = self.ledger, self.scene.effort
        crowded = len(ledger.cells) > effort.cells  # then what is nearest to a proof comes first
        ledger.cells.sort(key=lambda cell: cell.loose, reverse=crowded)
        ledger.hold(effort.slices * self.widely)
        start, count = time.perf_counter(), len(ledger.held)
        ledger.filter(IntervalPropagation())
        if self.hunt.due:
            with self.hunt.clocked():
                self.hunt.try_middles(list(ledger.held.values()))
        if ledger.held and not self.hunt.fooled:
            self._cut_each()
        self.costs.learn_cell((time.perf_counter() - start) / count)

    def _cut_each(self) -> None:
        """Cut the cells at hand, each where it is best; give up those that are fine enough.

        So are those that are at zero up to rounding, and all when far too many wait.
        """
        ledger = self.ledger
        fine = ledger.fine(list(ledger.held.values()))
        crowded = len(ledger.cells) > CROWD * self.scene.effort.cells
        for number, done in zip(list(ledger.held), fine, strict=True):
            if done or crowded or ledger.held[number].loose > -LEVEL * self.scene.scale:
                ledger.stopped.append(ledger.held[number])
                del ledger.held[number]
        cells = list(ledger.held.values())
        if not cells:
            return
        tried = self._trial(cells, self.refined)
        parts = self._trial.cut(cells, tried)
        for k, lower, upper in zip(parts.parents.tolist(), parts.lower, parts.upper, strict=True):
            ledger.part(cells[k], tried[k].pixel, lower, upper, tried[k].order)
        ledger.held.clear()

    @cached_property
    def _trial(self) -> Trial:
        """Where to cut, by trying."""
        scene = self.scene
        glance = Glance(scene.network, scene.image, scene.rows)
        return Trial(scene.threat, glance, scene.effort.tries * self.widely)
