"""Ledger: where every cell of a tree is, and what is proved."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from warpcert.bound import Bounder
from warpcert.core.errors import Unsound
from warpcert.core.shapes import Float
from warpcert.verify.branch.cell import Cell, layers_of, meet, stack
from warpcert.verify.branch.plot import Plot
from warpcert.verify.branch.proof import Proof, leaves_of
from warpcert.verify.branch.scene import Scene


class Ledger:
    """The cells of a tree, which cover all fields of the threat.

    Every cell is at any time in one of four places: it waits in ``cells``, is ``held`` while it is
    worked on, has a plot in ``plots``, or was given up (``stopped``); or it is closed, and its
    bound is in ``proved``. What closes cells is entered in a ``proof``, if there is one. ``root``
    is the whole threat, with all that is known of it.
    """

    def __init__(self, scene: Scene, root: Cell, proof: Proof | None = None) -> None:
        self.scene, self.root, self.proof = scene, root, proof
        self.cells, self.held, self.stopped = [root], dict[int, Cell](), list[Cell]()
        self.plots: list[tuple[Cell, Plot]] = []
        self.proved = torch.full_like(root.margins, math.inf)

    @property
    def open(self) -> int:
        """Cells and nodes that are not closed."""
        count = sum(len(places) for places in (self.cells, self.held, self.stopped))
        return count + sum(plot.open for _, plot in self.plots)

    @property
    def margins(self) -> Float[Tensor, " S"]:
        """Proved lower bounds of all margins, with what is open as far as it is known."""
        open_ = (cell.margins for cell in (*self.cells, *self.held.values(), *self.stopped))
        least = torch.stack([self.proved, *open_]).amin(0)
        for cell, plot in self.plots:
            least = torch.minimum(least, torch.maximum(plot.margins, cell.margins))
        return least

    def hold(self, count: int) -> None:
        """Take the first of the waiting cells into work."""
        self.held, self.cells = dict(enumerate(self.cells[:count])), self.cells[count:]

    def know(self, root: Cell, plot: Plot | None = None) -> None:
        """Let all cells know what is proved of the whole threat, of which they are parts."""
        if root.proved:
            self.close(root, plot)
            self.cells, self.plots, self.stopped = [], [], []
            return
        self.cells = [meet(cell, root) for cell in self.cells]
        self.root = root

    def filter(self, engine: Bounder) -> None:
        """Bound the cells at hand over free pixels; close those that are proved."""
        if not self.held:
            return
        cells, scene = list(self.held.values()), self.scene
        inputs = scene.inputs(cells, coupled=False)
        rows = scene.rows.expand(len(cells), -1, -1)
        found = engine(scene.network, inputs, rows, stack(cells))
        worst = found.margins.amin(1).tolist()
        for place, number in enumerate(list(self.held)):
            margins, layers = found.margins[place], layers_of(found, place)
            self.held[number] = replace(
                cells[place], layers=layers, margins=margins, loose=worst[place]
            )
            if worst[place] > 0 and self.held[number].proved:
                self.close(self.held[number])
                del self.held[number]  # only now: what stops before leaves it open

    def close(self, cell: Cell, plot: Plot | None = None) -> None:
        """Enter the margins of a cell that is proved, by itself or by the leaves of a plot."""
        if bool(torch.isinf(cell.margins).any()):
            raise Unsound("every node of a cell is empty, and the cell is not")
        self.proved = torch.minimum(self.proved, cell.margins)
        if self.proof is not None:
            kept = [] if plot is None or plot.kept is None else plot.kept
            leaves = [leaves_of(plot.reduced, nodes, cell.number) for nodes in kept if plot]
            self.proof.close(cell, [leaf for some in leaves for leaf in some])

    def part(
        self,
        cell: Cell,
        pixel: tuple[int, int],
        lower: Tensor,
        upper: Tensor,
        order: Tensor | None = None,
    ) -> None:
        """Let a part of a cell wait, with what is known of the whole."""
        level, number = cell.level + 1, 0
        if self.proof is not None:
            number = self.proof.cut(cell.number, pixel, lower, upper)
        part = replace(cell, lower=lower, upper=upper, level=level, number=number, order=order)
        self.cells.append(part)

    def fine(self, cells: list[Cell]) -> list[bool]:
        """Which cells are so small, or were cut so often, that they are not cut again."""
        effort = self.scene.effort
        widths = torch.stack([(cell.upper - cell.lower).amax() for cell in cells]).tolist()
        least = effort.finest * self.scene.threat.delta
        deep = (cell.level >= effort.levels for cell in cells)
        return [width <= least or low for width, low in zip(widths, deep, strict=True)]
