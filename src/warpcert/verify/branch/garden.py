"""Garden: cells that lines bound; on each, neurons are decided or the field is cut."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cached_property

import torch

from warpcert.bound import DeepPoly, IntervalPropagation, SetGround
from warpcert.core.box import Box
from warpcert.core.clock import tick
from warpcert.core.memory import chunk_size
from warpcert.verify.branch.aside import Aside, is_far
from warpcert.verify.branch.cell import Cell, layers_of, stack
from warpcert.verify.branch.costs import Costs
from warpcert.verify.branch.hunt import Hunt
from warpcert.verify.branch.knife import Knife
from warpcert.verify.branch.ledger import Ledger
from warpcert.verify.branch.plot import Plot

KNOWN_ARRAYS = 16
"""Float64 arrays of every layer's size that one cell takes while it is bounded, about."""

DUAL_STEPS = 30
"""Steps of the search for a member that an attack starts from."""

DEEPEST = 10
"""Cuts in a row that an estimate looks ahead."""

PATIENCE = 2.0
"""How many times longer than bounding neurons over the coupled set both ways should take, or have
taken, before that is tried."""

HOPE = 0.3
"""How often, about, planting must have helped for it to be tried where cells can be cut."""

DULLER = 2.0
"""How many times less decisions gain than the first one promises. Measured: trees of a few dozen
to some ten thousand nodes have about twice the depth that their roots' gains suggest."""

PARTS = 3.0
"""How many of the four parts that a cut makes stay open, about."""


class Garden:
    """Works on the cells and plots of a ledger by lines.

    ``aside``: the whole with free pixels, which may be proved before the cells are.
    """

    def __init__(self, ledger: Ledger, hunt: Hunt, costs: Costs) -> None:
        self.ledger, self.scene = ledger, ledger.scene
        self.hunt, self.costs = hunt, costs
        self.hopes = {"light": 1.0, "full": 1.0}
        self.aside: Aside | None = None

    def begin_aside(self) -> None:
        """Where far pixels are free, try the whole with all of them free first.

        For no longer than it takes to bound it over the coupled set.
        """
        scene, ledger = self.scene, self.ledger
        able = self._free and scene.relus and bool(ledger.cells)
        if able and is_far(scene.threat, scene.image):
            cell, plot = self.plant(ledger.root, full=False)
            ledger.know(cell, plot)
            if not cell.proved:
                self._set_aside(cell, plot, self.costs.full)

    def look_aside(self, aside: Aside) -> None:
        """Work with free pixels; cells know what is proved of more margins of the whole."""
        before = self.ledger.root.margins
        if aside.round():
            self.aside = None
        margins = torch.maximum(before, aside.margins)
        if bool(((margins > 0) & ~(before > 0)).any()):
            self.ledger.know(replace(self.ledger.root, margins=margins))

    def sift(self) -> None:
        """Bound a batch of cells; cut or plant those that stay open."""
        ledger, scene = self.ledger, self.scene
        ledger.cells.sort(key=lambda cell: cell.worst)
        ledger.hold(chunk_size(8 * KNOWN_ARRAYS * scene.network.entries, scene.image.device))
        held = ledger.held
        start, count = time.perf_counter(), len(held)
        if not scene.fields or any(cell.level for cell in held.values()):  # else it was begun
            ledger.filter(IntervalPropagation())
            if scene.fields or not scene.relus:
                ledger.filter(DeepPoly())
        self.costs.learn_cell((time.perf_counter() - start) / count)
        middles = [math.nan] * len(held)
        if scene.fields:
            middles = self.hunt.try_middles(list(held.values()))
        centres = dict(zip(held, middles, strict=True))
        while held and not self.hunt.fooled:
            tick()
            number = min(held, key=lambda k: held[k].worst)
            self._treat(held[number], centres[number])
            del held[number]  # whatever came of it is in its place now

    def tend(self) -> None:
        """A round in the plot that is worst; then it is closed, cut, planted anew, or kept."""
        plots = self.ledger.plots
        plots.sort(key=lambda pair: pair[1].lowest)
        cell, plot = plots[0]
        self._attack(cell, plot)
        if self.hunt.fooled:
            return
        plot.round()
        margins = torch.maximum(cell.margins, plot.margins)
        cell = replace(cell, margins=margins, layers=plot.layers)
        light = self.scene.sets and isinstance(plot.inputs, Box)
        if light and not cell.proved and plot.seconds > PATIENCE * self.costs.full:
            self._set_aside(cell, plot)
            cell, plot = self.plant(cell, full=True)
        if cell.proved:
            self.ledger.close(cell, plot)
        elif plot.done or self._late(cell, plot):
            self._set_aside(cell, plot)
            self._cut(cell)
        else:
            plots[0] = cell, plot
            return
        plots.pop(0)

    def plant(self, cell: Cell, full: bool) -> tuple[Cell, Plot]:
        """A plot on a cell, over its box or, in full, over the set; it may be proved at once.

        In full, the whole threat's neurons are bounded with its duals first.
        """
        start, scene = time.perf_counter(), self.scene
        inputs = scene.inputs([cell], coupled=full)
        if not full:
            inputs = Box(inputs.box)
        elif not cell.level:
            found = DeepPoly()(scene.network, inputs, scene.rows, stack([cell]))
            cell = replace(cell, layers=layers_of(found, 0), margins=found.margins[0])
        plot = Plot(
            scene.network,
            inputs,
            cell.layers,
            scene.rows,
            cell.margins,
            scene.effort,
            last=not scene.fields,
            keep=self.ledger.proof is not None,
        )
        self.costs.learn_planting(full, time.perf_counter() - start)
        margins = torch.maximum(cell.margins, plot.margins)
        return replace(cell, layers=plot.layers, margins=margins), plot

    @property
    def _free(self) -> bool:
        """Whether the whole is also tried with free pixels; a proof that is kept has no use."""
        return self.scene.effort.free and self.scene.sets and self.ledger.proof is None

    def _set_aside(self, cell: Cell, plot: Plot, head: float = 0.0) -> None:
        """Go on with a plot over free pixels of the whole threat, beside what comes instead."""
        able = self._free and self.aside is None and not cell.level
        if able and isinstance(plot.inputs, Box) and not plot.done:
            self.aside = Aside(plot, self.hunt, head)

    def _treat(self, cell: Cell, centre: float) -> None:
        """Cut a cell or decide neurons on it, whichever should close it in less time.

        Neurons are bounded over the pixels' box first and, where neither way is short, over the
        coupled set. ``centre`` is the margin in the middle of the cell.
        """
        scene, costs = self.scene, self.costs
        cutting = self._cutting(cell, centre)
        plot, deciding = None, math.inf
        begun = self.aside is not None and not cell.level  # with free pixels
        for full in (False, True) if scene.sets and not begun else (begun,):
            kind = "full" if full else "light"
            hopeless = cutting < math.inf and self.hopes[kind] < HOPE
            if not scene.relus or hopeless or cutting < (costs.full if full else costs.light):
                break
            if plot is not None:
                self._set_aside(cell, plot)
            cell, plot = self.plant(cell, full)
            deciding = self._deciding(plot)
            helped = cell.proved or deciding <= cutting
            self.hopes[kind] = (self.hopes[kind] + helped) / 2
            if cell.proved:
                self.ledger.close(cell, plot)
                return
            if min(cutting, deciding) < PATIENCE * costs.full:
                break
        if plot is None or plot.done or cutting < deciding:
            if plot is not None:
                self._set_aside(cell, plot)
            self._cut(cell)
        else:
            self.ledger.plots.append((cell, plot))

    def _cutting(self, cell: Cell, centre: float) -> float:
        """Seconds that cutting should take to close a cell; inf where it will not."""
        if not self.scene.fields or not bool((cell.lower < cell.upper).any()):
            return math.inf
        cuts = self._knife.cuts(cell, centre)
        return self.costs.cell * PARTS**cuts if cuts <= DEEPEST else math.inf

    def _deciding(self, plot: Plot) -> float:
        """Seconds that deciding neurons should still take to close a plot: no less than so far."""
        if plot.done or plot.expected <= 0:
            return math.inf
        each = plot.seconds / plot.nodes if plot.nodes else self.costs.node
        ahead = each * 2.0 ** min(60.0, DULLER * -plot.lowest / plot.expected)
        return max(ahead, plot.seconds)

    def _cut(self, cell: Cell) -> None:
        """Replace a cell by the parts it is cut into, or give it up."""
        ledger, scene = self.ledger, self.scene
        crowded = len(ledger.cells) >= scene.effort.cells
        if not scene.fields or crowded or ledger.fine([cell])[0]:
            ledger.stopped.append(cell)
            return
        pixel, parts = self._knife(cell)
        for lower, upper in zip(parts.lower, parts.upper, strict=True):
            ledger.part(cell, pixel, lower, upper)

    @cached_property
    def _knife(self) -> Knife:
        """Where to cut, by the gradient of the worst margin at the image."""
        scene = self.scene
        with torch.enable_grad():
            x = scene.image.to(torch.float64).clone().requires_grad_()
            scores = (scene.rows @ scene.network(x)[..., None]).squeeze(-1)
            (slope,) = torch.autograd.grad(scores.min(), x)
        steepness = slope[0].abs().nan_to_num(0.0)
        return Knife(scene.threat, scene.image[0], steepness + steepness.mean())

    def _late(self, cell: Cell, plot: Plot) -> bool:
        """Whether cutting the field is the quicker way by now, or the only one."""
        if not self.scene.fields:
            return False
        if bool((plot.stuck < math.inf).any()):
            return True
        if plot.nodes < 2 * plot.batch:
            return False
        centre = self.hunt.margins_at(cell.centre[None])
        return self._cutting(cell, float(centre[0])) < self._deciding(plot)

    def _attack(self, cell: Cell, plot: Plot) -> None:
        """Go down from where the last round's relaxations were lowest."""
        if plot.promising is None or not self.hunt.due:
            return
        points, rows = plot.promising
        plot.promising = None
        with self.hunt.clocked():
            if self.scene.exact:
                self.hunt.try_images(plot.reduced.image(points, self.scene.image[0]))
                return
            bent = self.scene.bent([cell], self.scene.threat)
            self.hunt.try_fields(SetGround(plot.reduced, bent, DUAL_STEPS).members(points, rows))
