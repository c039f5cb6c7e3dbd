"""Tree: branch on the field and on neurons until an image is decided."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from warpcert.bound import Bounder, Bounds, DeepPoly, IntervalPropagation, SetGround
from warpcert.core.box import Box
from warpcert.core.clock import tick
from warpcert.core.errors import Unsound
from warpcert.core.inputset import InputSet
from warpcert.core.memory import chunk_size
from warpcert.core.progress import Progress, tell
from warpcert.core.rounding import LEVEL
from warpcert.core.shapes import Float
from warpcert.flow import DeformedImage, Region, Threat
from warpcert.flow.split import whole
from warpcert.net import Hinge, Network
from warpcert.verify.branch.aside import Aside, is_far
from warpcert.verify.branch.cell import Cell, layers_of, meet, stack
from warpcert.verify.branch.effort import Effort
from warpcert.verify.branch.glance import Glance
from warpcert.verify.branch.hunt import Hunt
from warpcert.verify.branch.knife import Knife
from warpcert.verify.branch.plot import PARALLEL, Plot
from warpcert.verify.branch.proof import Proof, leaves_of
from warpcert.verify.branch.trial import Trial

KNOWN_ARRAYS = 16
"""Float64 arrays of every layer's size that one cell takes while it is bounded, about."""

DUAL_STEPS = 30
"""Steps of the search for a member that an attack starts from."""

STARTS = 4
"""Cells of a batch from whose middle an attack starts."""

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

CROWD = 16
"""How many times more cells than `Effort` says may wait where intervals alone are used, before
cells are given up. Before that, those nearest to a proof come first."""

LATER = 4.0
"""How many times longer than bounding neurons over the whole coupled set cells have been cut before
that is tried."""

DEARER = 60.0
"""How many times longer it takes to bound all neurons over the coupled set than once by lines.
Measured: 30 to 100 times."""

STRONG, ATTACKS = 1.0, 50
"""Seconds of work on an image before all attacks are tried, and how many passes of intervals more:
about as long as they take."""

SHARE = 0.15
"""How much of the time attacks from the middle of cells may take."""

PARTS = 3.0
"""How many of the four parts that a cut makes stay open, about."""


class Tree:
    """One image's problem, cut along the field into cells and, in those, along neurons.

    Cells cover all fields of the threat, and nodes of a cell all signs of its open neurons, so the
    least bound of all leaves holds for the image. Every cell is at any time in one of four
    places: it waits in ``cells``, is ``held`` while it is worked on, has a plot in ``plots``, or
    was given up (``stopped``); or it is closed, and its bound is in ``proved``. What closes cells
    is entered in a ``proof``, if there is one. ``aside``: the whole with free pixels, which may be
    proved before the cells are.
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
        self.network, self.image, self.threat = network, image, threat
        self.rows, self.effort, self.proof = rows, effort, proof
        self.hunt = Hunt(network, image, label, threat)
        every = DeformedImage(image, threat)
        self.coupled, self.exact = every.searches and effort.duals, every.boxed
        hinges = (isinstance(network.steps[k - 1].node, Hinge) for k in network.activations)
        self.relus = effort.relus and all(hinges)
        self.fields = effort.fields and not self.exact
        self.sets = effort.duals and not self.exact
        self.free = effort.free and self.sets and proof is None
        shape = (image.shape[2], image.shape[3])
        lower, upper = (x[0].to(image.device) for x in whole(threat, shape)[:2])
        margins = known.margins[0].nan_to_num(nan=-math.inf)  # no number, no proof
        first = Cell(lower, upper, layers_of(known, 0), margins)
        self.cells, self.held, self.stopped = [first], dict[int, Cell](), list[Cell]()
        self.plots: list[tuple[Cell, Plot]] = []
        self.aside: Aside | None = None
        self.proved = torch.full_like(margins, math.inf)
        self.hopes = {"light": 1.0, "full": 1.0}
        self.linear = True
        self.root = first
        self.strong, self.refined, self.judged = False, False, False
        self.start, self.hunting = time.perf_counter(), 0.0
        self.alone = -math.inf
        self.costs = {"interval": 0.0, "cell": 0.02, "light": 0.1, "full": 1.0, "node": 5e-4}

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

    def grow(self) -> None:
        """Work until nothing is open or a field is found; the clock may end it at any time."""
        self.start = time.perf_counter()
        if self.fields:
            self._begin()
            self._begin_aside()
        while (self.cells or self.plots) and not self.hunt.fooled:
            tick()
            if not self.strong and self._elapsed > STRONG + ATTACKS * self.costs["interval"]:
                self.strong = True
                self.hunt.try_hard()
            elif self.aside is not None and self.aside.due(self._elapsed):
                self._look_aside(self.aside)
            elif not self.cells:
                self._tend()
            elif self.linear:
                self._sift()
            else:
                self._slice()
            tell(lambda: Progress(self.open, float(self.margins.min())))

    def _inputs(self, cells: list[Cell], coupled: bool) -> InputSet:
        """The bent images of cells; with free pixels, or as the threat couples them."""
        free = replace(self.threat, gamma=math.inf)
        inputs = self._bent(cells, self.threat if coupled and self.coupled else free)
        return Box(inputs.box) if inputs.boxed else inputs

    def _bent(self, cells: list[Cell], threat: Threat) -> DeformedImage:
        """The image, bent within the cells of a threat."""
        if len(cells) == 1 and not cells[0].level:
            return DeformedImage(self.image, threat)
        lower = torch.stack([cell.lower for cell in cells])[:, None]
        upper = torch.stack([cell.upper for cell in cells])[:, None]
        region = Region(float(threat.norm), threat.delta, lower, upper)
        images = self.image.expand(len(cells), -1, -1, -1)
        return DeformedImage(images, threat, region=region)

    def _begin(self) -> None:
        """Try cuts by intervals; where few should do, make them, else see what lines say.

        A proof that is kept has what lines say of the whole before all cuts.
        """
        start = time.perf_counter()
        box = self._inputs([self.root], coupled=False)
        alone = IntervalPropagation()(self.network, box, self.rows).margins
        self.costs["interval"] = time.perf_counter() - start
        self.costs["lines"] = self.costs["interval"] * self.network.entries / ROWS
        self.alone, should = float(alone.min()), math.inf
        if self.effort.trials:
            (tried,) = self._trial(self.cells, self.refined)
            self.cells, should = [replace(self.root, order=tried.order)], tried.cells
        self.linear = False
        if should > FEW or self.costs["lines"] < SOON or self.proof is not None:
            self._judge()
        if not self.linear and should > MOST:
            self.linear = self.strong = True
            self.hunt.try_hard()

    def _judge(self) -> None:
        """See whether lines say more of the whole threat than intervals alone do.

        What they prove of it holds on every cell, because each is a part of the threat.
        """
        self.judged = True
        start, box = time.perf_counter(), self._inputs([self.root], coupled=False)
        found = DeepPoly()(self.network, box, self.rows, stack([self.root]))
        self.costs["full"] = max(self.costs["full"], DEARER * (time.perf_counter() - start))
        margins = torch.maximum(self.root.margins, found.margins[0].nan_to_num(nan=-math.inf))
        loose = float(found.margins.min())
        root = replace(self.root, layers=layers_of(found, 0), margins=margins, loose=loose)
        self._know(root)
        self.linear = not (self.effort.trials and root.worst < LINEAR * self.alone)

    def _know(self, root: Cell, plot: Plot | None = None) -> None:
        """Let all cells know what is proved of the whole threat, of which they are parts."""
        if root.proved:
            self._close(root, plot)
            self.cells, self.plots, self.stopped = [], [], []
            return
        self.cells = [meet(cell, root) for cell in self.cells]
        self.root = root

    def _slice(self) -> None:
        """Bound a batch of cells by intervals; cut those that stay open, each where it is best.

        When that takes longer than it should, lines are asked after all. After as long as it takes
        to bound the whole threat's neurons in full, that is done once.
        """
        if not self.judged and self._elapsed > self.costs["lines"]:
            self._judge()
            return
        able = self.sets and self.proof is None and not self.refined
        if able and self._elapsed > LATER * self.costs["full"]:
            self._strengthen()
            return
        size = self.effort.slices * (1 if self.image.device.type == "cpu" else PARALLEL)
        crowded = len(self.cells) > self.effort.cells  # then what is nearest to a proof comes first
        self.cells.sort(key=lambda cell: cell.loose, reverse=crowded)
        self.held = dict(enumerate(self.cells[:size]))
        self.cells = self.cells[size:]
        start, count = time.perf_counter(), len(self.held)
        self._filter(IntervalPropagation())
        if self.hunting < SHARE * self._elapsed:
            begin = time.perf_counter()
            self._centres(list(self.held.values()))
            self.hunting += time.perf_counter() - begin
        if self.held and not self.hunt.fooled:
            self._cut_each()
        self._learn("cell", (time.perf_counter() - start) / count)

    def _cut_each(self) -> None:
        """Cut the cells at hand, each where it is best; give up those that are fine enough.

        So are those that are at zero up to rounding, and all when far too many wait.
        """
        fine = self._fine(list(self.held.values()))
        crowded = len(self.cells) > CROWD * self.effort.cells
        for number, done in zip(list(self.held), fine, strict=True):
            if done or crowded or self.held[number].loose > -LEVEL * self._scale:
                self.stopped.append(self.held[number])
                del self.held[number]
        cells = list(self.held.values())
        if not cells:
            return
        tried = self._trial(cells, self.refined)
        parts = self._trial.cut(cells, tried)
        for k, lower, upper in zip(parts.parents.tolist(), parts.lower, parts.upper, strict=True):
            self._part(cells[k], tried[k].pixel, lower, upper, tried[k].order)
        self.held.clear()

    @cached_property
    def _scale(self) -> float:
        """The size of the scores."""
        return 1.0 + float(self.network(self.image.to(torch.float64)).abs().amax())

    @property
    def _elapsed(self) -> float:
        return time.perf_counter() - self.start

    def _strengthen(self) -> None:
        """Bound the neurons of the whole threat with its duals, for all cells.

        Sound, because every cell is a part of the threat, so that what holds there holds on it.
        """
        self.refined = True
        self._know(*self._plant(self.root, full=True))

    def _begin_aside(self) -> None:
        """Where far pixels are free, try the whole with all of them free first.

        For no longer than it would be tended before it is bounded over the coupled set.
        """
        able = self.free and self.linear and self.relus and bool(self.cells)
        if able and is_far(self.threat, self.image):
            cell, plot = self._plant(self.root, full=False)
            self._know(cell, plot)
            if not cell.proved:
                self._set_aside(cell, plot, PATIENCE * self.costs["full"])

    def _set_aside(self, cell: Cell, plot: Plot, head: float = 0.0) -> None:
        """Go on with a plot over free pixels of the whole threat, beside what comes instead."""
        able = self.free and self.aside is None and not cell.level
        if able and isinstance(plot.inputs, Box) and not plot.done:
            self.aside = Aside(plot, self.hunt, head)

    def _look_aside(self, aside: Aside) -> None:
        """Work with free pixels; cells know what is proved of more margins of the whole."""
        before = self.root.margins
        if aside.round():
            self.aside = None
        margins = torch.maximum(before, aside.margins)
        if bool(((margins > 0) & ~(before > 0)).any()):
            self._know(replace(self.root, margins=margins))

    def _sift(self) -> None:
        """Bound a batch of cells; cut or plant those that stay open."""
        size = chunk_size(8 * KNOWN_ARRAYS * self.network.entries, self.image.device)
        self.cells.sort(key=lambda cell: cell.worst)
        self.held = dict(enumerate(self.cells[:size]))
        self.cells = self.cells[size:]
        start, count = time.perf_counter(), len(self.held)
        if not self.fields or any(cell.level for cell in self.held.values()):  # else it was begun
            self._filter(IntervalPropagation())
            if self.fields or not self.relus:
                self._filter(DeepPoly())
        self._learn("cell", (time.perf_counter() - start) / count)
        centres = dict(zip(self.held, self._centres(list(self.held.values())), strict=True))
        while self.held and not self.hunt.fooled:
            tick()
            number = min(self.held, key=lambda k: self.held[k].worst)
            self._treat(self.held[number], centres[number])
            del self.held[number]  # whatever came of it is in its place now

    def _filter(self, engine: Bounder) -> None:
        """Bound the cells at hand; close those that are proved."""
        if not self.held:
            return
        cells = list(self.held.values())
        inputs = self._inputs(cells, coupled=False)
        found = engine(self.network, inputs, self.rows.expand(len(cells), -1, -1), stack(cells))
        worst = found.margins.amin(1).tolist()
        for place, number in enumerate(list(self.held)):
            margins, layers = found.margins[place], layers_of(found, place)
            self.held[number] = replace(
                cells[place], layers=layers, margins=margins, loose=worst[place]
            )
            if worst[place] > 0 and self.held[number].proved:
                self._close(self.held[number])
                del self.held[number]  # only now: what stops before leaves it open

    def _close(self, cell: Cell, plot: Plot | None = None) -> None:
        """Enter the margins of a cell that is proved, by itself or by the leaves of a plot."""
        if bool(torch.isinf(cell.margins).any()):
            raise Unsound("every node of a cell is empty, and the cell is not")
        self.proved = torch.minimum(self.proved, cell.margins)
        if self.proof is not None:
            kept = [] if plot is None or plot.kept is None else plot.kept
            leaves = [leaves_of(plot.reduced, nodes, cell.number) for nodes in kept if plot]
            self.proof.close(cell, [leaf for some in leaves for leaf in some])

    def _treat(self, cell: Cell, centre: float) -> None:
        """Cut a cell or decide neurons on it, whichever should close it in less time.

        Neurons are bounded over the pixels' box first and, where neither way is short, over the
        coupled set. ``centre`` is the margin in the middle of the cell.
        """
        cutting = self._cutting(cell, centre)
        plot, deciding = None, math.inf
        begun = self.aside is not None and not cell.level  # with free pixels
        for full in (False, True) if self.sets and not begun else (begun,):
            kind = "full" if full else "light"
            hopeless = cutting < math.inf and self.hopes[kind] < HOPE
            if not self.relus or hopeless or cutting < self.costs[kind]:
                break
            if plot is not None:
                self._set_aside(cell, plot)
            cell, plot = self._plant(cell, full)
            deciding = self._deciding(plot)
            helped = cell.proved or deciding <= cutting
            self.hopes[kind] = (self.hopes[kind] + helped) / 2
            if cell.proved:
                self._close(cell, plot)
                return
            if min(cutting, deciding) < PATIENCE * self.costs["full"]:
                break
        if plot is None or plot.done or cutting < deciding:
            if plot is not None:
                self._set_aside(cell, plot)
            self._cut(cell)
        else:
            self.plots.append((cell, plot))

    def _plant(self, cell: Cell, full: bool) -> tuple[Cell, Plot]:
        """A plot on a cell, over its box or, in full, over the set; it may be proved at once.

        In full, the whole threat's neurons are bounded with its duals first.
        """
        start = time.perf_counter()
        inputs = self._inputs([cell], coupled=full)
        if not full:
            inputs = Box(inputs.box)
        elif not cell.level:
            found = DeepPoly()(self.network, inputs, self.rows, stack([cell]))
            cell = replace(cell, layers=layers_of(found, 0), margins=found.margins[0])
        plot = Plot(
            self.network,
            inputs,
            cell.layers,
            self.rows,
            cell.margins,
            self.effort,
            last=not self.fields,
            keep=self.proof is not None,
        )
        self._learn("full" if full else "light", time.perf_counter() - start)
        margins = torch.maximum(cell.margins, plot.margins)
        return replace(cell, layers=plot.layers, margins=margins), plot

    def _cutting(self, cell: Cell, centre: float) -> float:
        """Seconds that cutting should take to close a cell; inf where it will not."""
        if not self.fields or not bool((cell.lower < cell.upper).any()):
            return math.inf
        cuts = self._knife.cuts(cell, centre)
        return self.costs["cell"] * PARTS**cuts if cuts <= DEEPEST else math.inf

    def _centres(self, cells: list[Cell]) -> list[float]:
        """The margins in the middle of cells; from the lowest ones an attack goes on."""
        if not self.fields or not cells:
            return [math.nan] * len(cells)
        fields = torch.stack([cell.lower / 2 + cell.upper / 2 for cell in cells])
        margins = self.hunt.margins_at(fields)
        lowest = margins.topk(min(STARTS, len(cells)), largest=False).indices
        self.hunt.try_fields(fields[lowest])
        return margins.tolist()

    def _deciding(self, plot: Plot) -> float:
        """Seconds that deciding neurons should still take to close a plot: no less than so far."""
        if plot.done or plot.expected <= 0:
            return math.inf
        each = plot.seconds / plot.nodes if plot.nodes else self.costs["node"]
        ahead = each * 2.0 ** min(60.0, DULLER * -plot.lowest / plot.expected)
        return max(ahead, plot.seconds)

    def _learn(self, what: str, seconds: float) -> None:
        """What a step costs, by the last ones."""
        self.costs[what] = 0.5 * self.costs[what] + 0.5 * seconds

    def _cut(self, cell: Cell) -> None:
        """Replace a cell by the parts it is cut into, or give it up."""
        crowded = len(self.cells) >= self.effort.cells
        if not self.fields or crowded or self._fine([cell])[0]:
            self.stopped.append(cell)
            return
        pixel, parts = self._knife(cell)
        for lower, upper in zip(parts.lower, parts.upper, strict=True):
            self._part(cell, pixel, lower, upper)

    def _fine(self, cells: list[Cell]) -> list[bool]:
        """Which cells are so small that they are not cut again."""
        widths = torch.stack([(cell.upper - cell.lower).amax() for cell in cells]).tolist()
        least = self.effort.finest * self.threat.delta
        deep = (cell.level >= self.effort.levels for cell in cells)
        return [width <= least or low for width, low in zip(widths, deep, strict=True)]

    def _part(
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

    @cached_property
    def _trial(self) -> Trial:
        """Where to cut, by trying."""
        tries = self.effort.tries * (1 if self.image.device.type == "cpu" else PARALLEL)
        return Trial(self.threat, Glance(self.network, self.image, self.rows), tries)

    @cached_property
    def _knife(self) -> Knife:
        """Where to cut, by the gradient of the worst margin at the image."""
        with torch.enable_grad():
            x = self.image.to(torch.float64).clone().requires_grad_()
            scores = (self.rows @ self.network(x)[..., None]).squeeze(-1)
            (slope,) = torch.autograd.grad(scores.min(), x)
        steepness = slope[0].abs().nan_to_num(0.0)
        return Knife(self.threat, self.image[0], steepness + steepness.mean())

    def _tend(self) -> None:
        """A round in the plot that is worst; then it is closed, cut, planted anew, or kept."""
        self.plots.sort(key=lambda pair: pair[1].lowest)
        cell, plot = self.plots[0]
        self._attack(cell, plot)
        if self.hunt.fooled:
            return
        plot.round()
        cell = replace(cell, margins=torch.maximum(cell.margins, plot.margins))
        light = self.sets and isinstance(plot.inputs, Box)
        if light and not cell.proved and plot.seconds > PATIENCE * self.costs["full"]:
            self._set_aside(cell, plot)
            cell, plot = self._plant(cell, full=True)
        if cell.proved:
            self._close(cell, plot)
        elif plot.done or self._late(cell, plot):
            self._set_aside(cell, plot)
            self._cut(cell)
        else:
            self.plots[0] = cell, plot
            return
        self.plots.pop(0)

    def _late(self, cell: Cell, plot: Plot) -> bool:
        """Whether cutting the field is the quicker way by now, or the only one."""
        if not self.fields:
            return False
        if bool((plot.stuck < math.inf).any()):
            return True
        if plot.nodes < 2 * plot.batch:
            return False
        centre = self.hunt.margins_at((cell.lower / 2 + cell.upper / 2)[None])
        return self._cutting(cell, float(centre[0])) < self._deciding(plot)

    def _attack(self, cell: Cell, plot: Plot) -> None:
        """Go down from where the last round's relaxations were lowest."""
        if plot.promising is None:
            return
        points, rows = plot.promising
        plot.promising = None
        if self.exact:
            self.hunt.try_images(plot.reduced.image(points, self.image[0]))
        else:
            bent = SetGround(plot.reduced, self._bent([cell], self.threat), DUAL_STEPS)
            self.hunt.try_fields(bent.members(points, rows))
