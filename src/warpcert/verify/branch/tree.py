"""Tree: branch on the field and on neurons until an image is decided."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from warpcert.bound import Alpha, Bounds, DeepPoly, IntervalPropagation
from warpcert.core.box import Box
from warpcert.core.clock import tick
from warpcert.core.errors import Unsupported
from warpcert.core.inputset import InputSet
from warpcert.core.memory import chunk_size
from warpcert.core.shapes import Float
from warpcert.flow import DeformedImage, Region, Threat
from warpcert.flow.split import Parts, split, whole
from warpcert.net import Hinge, Network
from warpcert.verify.branch.cell import Cell, layers_of, stack
from warpcert.verify.branch.effort import Effort
from warpcert.verify.branch.hunt import Hunt
from warpcert.verify.branch.plot import Plot

KNOWN_ARRAYS = 16
"""Float64 arrays of every layer's size that one cell takes while it is bounded, about."""

SHRINK = 0.6
"""What the next cut of a cell is expected to bring, in terms of the last one."""


@dataclass(frozen=True)
class Progress:
    """How far a tree is: open nodes and cells, and the least bound proved so far."""

    open: int
    bound: float


class Tree:
    """One image's problem, cut along the field into cells and, in those, along neurons.

    Cells cover all fields of the threat, and nodes of a cell all signs of its open neurons, so the
    least bound of all leaves is one for the image. ``margins`` (S,) are proved at any time.
    """

    def __init__(
        self,
        network: Network,
        image: Float[Tensor, "1 C H W"],
        label: Tensor,
        threat: Threat,
        rows: Float[Tensor, "1 S classes"],
        effort: Effort,
        known: Bounds | None = None,
        listener: Callable[[Progress], None] | None = None,
    ) -> None:
        self.network, self.image, self.label, self.threat = network, image, label, threat
        self.rows, self.effort, self.listener = rows, effort, listener
        self.hunt = Hunt(network, image, label, threat)
        self.free = replace(threat, gamma=math.inf)
        self.coupled = DeformedImage(image, threat).searches
        self.exact = DeformedImage(image, threat).boxed
        self.hinges = all(
            isinstance(network.steps[k - 1].node, Hinge) for k in network.activations
        )
        self.relus = effort.relus and self.hinges
        self.fields = effort.fields and not self.exact
        self.cells: list[Cell] = []
        self.plots: list[tuple[Cell, Plot]] = []
        self.proved = torch.full((rows.shape[1],), math.inf, dtype=torch.float64)
        self.known = known
        self.seconds = {"cell": 0.02, "plot": 0.1, "node": 5e-4}
        self.stopped: list[Cell] = []

    @property
    def open(self) -> int:
        """Cells and nodes that are not closed."""
        return len(self.cells) + len(self.stopped) + sum(len(p.pool) for _, p in self.plots)

    @property
    def margins(self) -> Float[Tensor, " S"]:
        """Proved lower bounds of all margins, with what is open as far as it is known."""
        least = self.proved.clone().cpu()
        for cell in (*self.cells, *self.stopped):
            least = torch.minimum(least, cell.margins.cpu())
        for cell, plot in self.plots:
            least = torch.minimum(least, torch.maximum(plot.margins(), cell.margins).cpu())
        return least

    def grow(self) -> None:
        """Work until nothing is open or a field is found; the clock may end it at any time."""
        self._root()
        while (self.cells or self.plots) and not self.hunt.fooled:
            tick()
            if self.cells:
                self._sift()
            else:
                self._tend()
            if self.listener is not None:
                self.listener(Progress(self.open, float(self.margins.min())))

    def _root(self) -> None:
        """The whole threat as the first cell."""
        parts = whole(self.threat, (self.image.shape[2], self.image.shape[3]))
        lower, upper = (x[0].to(self.image.device) for x in (parts.lower, parts.upper))
        known = self.known
        if known is None:
            known = DeepPoly()(self.network, self._inputs(None), self.rows)
        layers = layers_of(known, 0)
        margins = known.margins[0]
        self.cells.append(Cell(lower, upper, layers, margins))

    def _inputs(self, cells: list[Cell] | None, coupled: bool = True) -> InputSet:
        """The bent images of cells, or of the whole threat."""
        threat = self.threat if coupled and self.effort.duals else self.free
        if cells is None:
            return _boxed(DeformedImage(self.image, threat))
        images = self.image.expand(len(cells), -1, -1, -1)
        lower = torch.stack([cell.lower for cell in cells])[:, None]
        upper = torch.stack([cell.upper for cell in cells])[:, None]
        region = Region(float(threat.norm), threat.delta, lower, upper)
        return _boxed(DeformedImage(images, threat, region=region))

    def _sift(self) -> None:
        """Bound a batch of cells; cut or plant those that stay open."""
        entries = sum(math.prod(shape) for shape in self.network.shapes)
        size = chunk_size(8 * KNOWN_ARRAYS * entries, self.image.device)
        self.cells.sort(key=lambda cell: cell.worst)
        batch, self.cells = self.cells[:size], self.cells[size:]
        start = time.perf_counter()
        fresh = [cell for cell in batch if not cell.whole]
        done = [cell for cell in batch if cell.whole]
        for engine in (IntervalPropagation(), DeepPoly()):
            if fresh:
                fresh = self._filter(fresh, engine)
        if batch and not done:
            spent = (time.perf_counter() - start) / len(batch)
            self.seconds["cell"] = 0.5 * self.seconds["cell"] + 0.5 * spent
        for cell in done + fresh:
            self._treat(cell)
            if self.hunt.fooled:
                return

    def _filter(self, cells: list[Cell], engine: IntervalPropagation | DeepPoly) -> list[Cell]:
        """Bound cells by an engine; close those that are proved, return the others."""
        rows = self.rows.expand(len(cells), -1, -1)
        found = engine(self.network, self._inputs(cells, coupled=False), rows, stack(cells))
        kept = []
        for number, cell in enumerate(cells):
            margins = found.margins[number]
            gain = cell.gain
            if isinstance(engine, DeepPoly):
                gain = max(0.0, float(margins.min()) - cell.gain)
            cell = replace(cell, layers=layers_of(found, number), margins=margins, gain=gain)
            if bool((margins > 0).all()):
                self._close(margins)
            else:
                kept.append(cell)
        return kept

    def _close(self, margins: Tensor) -> None:
        self.proved = torch.minimum(self.proved, margins.to(self.proved))

    def _treat(self, cell: Cell) -> None:
        """Cut a cell or plant it, whichever should close it sooner."""
        if bool((cell.margins > 0).all()):
            self._close(cell.margins)
            return
        if self.fields:
            middle = (cell.lower + cell.upper) / 2
            if self.hunt.try_fields(middle[None]):
                return
        cut = self._cut_seconds(cell)
        if cut < self.seconds["plot"] or not self.relus:
            self._cut(cell)
            return
        start = time.perf_counter()
        plot = self._plant(cell)
        self.seconds["plot"] = time.perf_counter() - start
        if plot.done:
            self._close(torch.maximum(plot.margins(), cell.margins))
        elif self._grow_seconds(plot) > cut:
            self._cut(replace(cell, margins=torch.maximum(cell.margins, plot.margins())))
        else:
            self.plots.append((cell, plot))

    def _plant(self, cell: Cell) -> Plot:
        inputs = self._inputs(None if cell.whole else [cell])
        return Plot(self.network, inputs, cell.layers, self.rows, cell.margins, self.effort)

    def _cut_seconds(self, cell: Cell) -> float:
        """How long cutting should take to close a cell: inf where it cannot."""
        if not self.fields or (cell.upper - cell.lower).amax() <= 0:
            return math.inf
        if cell.whole and math.isinf(cell.gain):
            return 0.0 if self.coupled and self.threat.gamma <= 0.02 else math.inf
        gap, gain, levels = -cell.worst, SHRINK * cell.gain, 0
        while gap > 0 and levels < 12:
            gap, gain, levels = gap - gain, SHRINK * gain, levels + 1
        return math.inf if gap > 0 else self.seconds["cell"] * 4**levels

    def _grow_seconds(self, plot: Plot) -> float:
        """How long deciding neurons should take to close a plot."""
        if plot.expected <= 0:
            return math.inf
        levels = min(40.0, -plot.lowest / plot.expected)
        each = plot.seconds / plot.nodes if plot.nodes else self.seconds["node"]
        return each * 2.0**levels

    def _cut(self, cell: Cell) -> None:
        """Replace a cell by the parts it is cut into."""
        if (cell.upper - cell.lower).amax() <= 0 or len(self.cells) > self.effort.cells:
            self.stopped.append(cell)
            return
        pixel, axes = self._where(cell)
        parts = split(self.threat, cell.lower[None], cell.upper[None], pixel, axes)
        for lower, upper in zip(parts.lower, parts.upper, strict=True):
            child = replace(cell, lower=lower, upper=upper, level=cell.level + 1, gain=cell.worst)
            self.cells.append(child)

    def _where(self, cell: Cell) -> tuple[Tensor, Tensor]:
        """The pixel whose cut confines the most, weighted by what pixels can do; and the axes."""
        inputs = self._inputs(None if cell.whole else [cell], coupled=False)
        height, width = self.image.shape[2:]
        weight = (inputs.box.width[0] * self._steepness).sum(0).flatten()
        size = cell.upper - cell.lower
        half = size.amax(2).flatten() / 2
        rows = torch.arange(height, device=weight.device).repeat_interleave(width)
        columns = torch.arange(width, device=weight.device).repeat(height)
        steps = (rows[:, None] - rows).abs() + (columns[:, None] - columns).abs()
        away = torch.where(steps > 0, self.threat.gamma * steps.to(weight), 0.0)
        score = ((half[:, None] - away).clamp(min=0) @ weight)
        best = int(score.argmax())
        at = torch.tensor([[best // width, best % width]], device=weight.device)
        own = size[best // width, best % width]
        return at, (own > 0.7 * own.amax())[None]

    @property
    def _steepness(self) -> Tensor:
        """How much each pixel of the image matters to its worst margin, about."""
        if not hasattr(self, "_steep"):
            with torch.enable_grad():
                x = self.image.to(torch.float64).clone().requires_grad_()
                scores = (self.rows @ self.network(x)[..., None]).squeeze(-1)
                (slope,) = torch.autograd.grad(scores.min(), x)
            self._steep = slope[0].abs() + 1e-3 * slope.abs().amax()
        return self._steep

    def _tend(self) -> None:
        """A round in the plot that is worst."""
        self.plots.sort(key=lambda pair: pair[1].lowest)
        cell, plot = self.plots[0]
        if plot.promising is not None:
            self._attack(cell, plot)
            if self.hunt.fooled:
                return
        plot.round()
        if plot.done:
            self._close(torch.maximum(plot.margins(), cell.margins))
            self.plots.pop(0)
        elif self.fields and (plot.stuck or self._late(cell, plot)):
            self.plots.pop(0)
            self._cut(replace(cell, margins=torch.maximum(cell.margins, plot.margins())))

    def _late(self, cell: Cell, plot: Plot) -> bool:
        """Whether cutting the field is now the quicker way."""
        if plot.nodes < 4 * self.effort.batch:
            return False
        return self._cut_seconds(cell) < self._grow_seconds(plot)

    def _attack(self, cell: Cell, plot: Plot) -> None:
        assert plot.promising is not None
        points, rows = plot.promising
        plot.promising = None
        if self.exact:
            self.hunt.try_images(plot.reduced.image(points, self.image[0]))
        else:
            self.hunt.try_fields(plot.set.members(points, rows))


def _boxed(inputs: InputSet) -> InputSet:
    """The box of a set that is its box, which answers faster."""
    return Box(inputs.box) if inputs.boxed else inputs
