"""Plot: one cell of the field, in which neurons are decided."""

from __future__ import annotations

import time
from dataclasses import replace

import torch
from torch import Tensor

from warpcert.bound import (
    Beta,
    BoxGround,
    Experience,
    Ground,
    Nodes,
    Reduced,
    ground,
    improve,
    propagate,
    reduce,
    straight_ends,
    tighten,
)
from warpcert.bound.layers import bound_layers, layer_intervals
from warpcert.core.errors import Unsound
from warpcert.core.inputset import InputSet
from warpcert.core.interval import Interval
from warpcert.core.memory import gpu_bytes, is_shortage, release
from warpcert.core.shapes import Float
from warpcert.net import Network
from warpcert.verify.branch.cell import Layers
from warpcert.verify.branch.deepen import deepen
from warpcert.verify.branch.effort import Effort
from warpcert.verify.branch.pool import Pool
from warpcert.verify.branch.prospect import Prospect, gained

PRESSES = (100, 400, 1600)
"""Iterations, one after the other, for nodes in which everything is decided."""

PARALLEL = 128
"""How many times more nodes a GPU treats at once. Measured on an H200: below some ten thousand a
round takes as long as launching it, and with a million waiting choosing among them counts, too."""

FEWEST = 16
"""Nodes that are treated at once at least, however short memory is."""

ROOM = 0.2
"""How much of what is free on a GPU waiting nodes may take there."""

STARTS = 4
"""Nodes of a round whose minimum an attack starts from."""

CHEAP, DEAR = 4, 8
"""How many nodes of margins take as long as splitting a neuron, over a box and over a set: there it
is bounded with more steps."""


class Plot:
    """The margins of one image on one cell: nodes with neurons decided, the worst first.

    ``proved`` (S,) is the least bound of the leaves of every margin closed so far, ``stuck`` (S,)
    that of nodes in which every neuron is decided and which are still open: nothing can be done
    about them here. Both are inf where there are none. ``last`` says that no cut will help such
    nodes, so that they are worth more; with ``keep`` proved nodes are kept for a proof.
    """

    def __init__(  # noqa: PLR0913 - a problem, and how it is to be solved
        self,
        network: Network,
        inputs: InputSet,
        layers: Layers,
        rows: Float[Tensor, "1 S classes"],
        margins: Float[Tensor, " S"],
        effort: Effort,
        *,
        last: bool = True,
        keep: bool = False,
    ) -> None:
        self.network, self.effort, self.inputs = network, effort, inputs
        self.presses = PRESSES if last else PRESSES[:1]
        self.batch = effort.batch * (1 if rows.device.type == "cpu" else PARALLEL)
        self.memory = max(effort.memory, ROOM * gpu_bytes(rows.device))
        self.kept: list[Nodes] | None = [] if keep else None
        self.reduced, self.layers = self._reduce(layers, rows)
        self.loose = BoxGround(self.reduced)
        self.ends = straight_ends(self.reduced, self.loose)
        self.ground: Ground = self.loose
        self.set = ground(self.reduced, inputs, effort.node_duals[0])
        self.longer = [
            (
                longer,
                ground(self.reduced, inputs, longer.often),
                Prospect(longer.least, rows.device),
            )
            for longer in effort.longer
        ]
        self.pool = Pool()
        self.experience = Experience(rows.shape[1], len(self.reduced), rows.device)
        self.held: Nodes | None = None
        self.proved = torch.full_like(margins, torch.inf)
        self.nodes, self.rounds, self.seconds = 0, 0, 0.0
        self.stuck = torch.full_like(margins, torch.inf)
        self.expected = 0.0
        self.promising: tuple[Tensor, Tensor] | None = None
        able = effort.splits > 0 and effort.intersect and len(self.reduced.blocks) > 1
        stages = (effort.splits,) if inputs.boxed else effort.set_splits
        self.stages = list(stages) if able and not keep else []
        self._plant(margins)

    @property
    def lowest(self) -> float:
        """The least bound of the open nodes."""
        return self.pool.lowest

    @property
    def open(self) -> int:
        """How many nodes are open, those in work included."""
        return len(self.pool) + (0 if self.held is None else len(self.held))

    @property
    def done(self) -> bool:
        """Whether no node is open."""
        return not len(self.pool)

    @property
    def margins(self) -> Float[Tensor, " S"]:
        """Proved lower bounds of all margins on this cell, open nodes included."""
        least = torch.minimum(self.proved, self.stuck)
        for row, bound in self.pool.rows().items():
            least[row] = min(float(least[row]), bound)
        if self.held is not None:
            least.scatter_reduce_(0, self.held.rows, self.held.bound, "amin")
        return least

    def round(self) -> None:
        """Decide one more neuron in some of the nodes; in fewer from now on if memory runs out."""
        start = time.perf_counter()
        try:
            self._round()
        except (RuntimeError, MemoryError) as error:
            if not is_shortage(error) or self.batch < 2 * FEWEST or self.kept is not None:
                raise  # a kept proof has every node once
            release(self.reduced.low.device)
            self.batch //= 2
            if self.held is not None:
                self.pool.put(self.held)  # some of their children may be there, too: they are open
                self.held = None
        self.seconds += time.perf_counter() - start

    def _round(self) -> None:
        """The same, as far as memory goes: what is in work when it ends is in ``held``."""
        if self.stages and self.nodes > self._cost(self.stages[0]):
            self._deepen(self.stages.pop(0))
        crowded = len(self.pool) * self.pool.node_bytes > self.memory
        self.rounds += 1
        parents = self.pool.take(self.batch, best=crowded)
        self.held = parents  # open until all of their children are in their places
        ready = parents.choice >= 0
        self._close(parents[ready].children())
        if not bool(ready.all()):
            self._press(parents[~ready])
        self.held = None

    def _reduce(self, layers: Layers, rows: Tensor) -> tuple[Reduced, Layers]:
        """The open neurons, their bounds made better by slopes of their own.

        Over the box first; then, where the set knows more than its box, over the set.
        """
        reduced = reduce(bound_layers(self.network, self.inputs, (), layers), rows)
        beta = self.effort.inner
        if not beta.iterations or len(reduced.blocks) < 2:
            return reduced, layers
        reduced, layers = self._tighten(reduced, BoxGround(reduced), layers, rows, 0)
        if self.inputs.boxed:
            return reduced, layers
        for _ in range(self.effort.passes):
            often, last = self.effort.inner_duals
            whole = ground(reduced, self.inputs, often)
            reduced, layers = self._tighten(reduced, whole, layers, rows, last)
        return reduced, layers

    def _tighten(
        self, reduced: Reduced, ground: Ground, layers: Layers, rows: Tensor, steps: int
    ) -> tuple[Reduced, Layers]:
        """Bound all open neurons anew, layer after layer, and leave out those that are closed."""
        first = torch.zeros(1, dtype=torch.int64, device=reduced.lower.device)
        one = Nodes.roots(reduced, first, reduced.lower.new_full((1,), -torch.inf))
        for number in range(1, len(reduced.blocks)):
            one, empty = tighten(reduced, ground, one, number, self.effort.inner, steps)
            if bool(empty.any()):
                raise Unsound("two bounds of one neuron have no number in common")
        better = self._enter(layers, replace(reduced, lower=one.lower[0], upper=one.upper[0]))
        known = bound_layers(self.network, self.inputs, (), better)
        return reduce(known, rows), layer_intervals(known)

    def _enter(self, layers: Layers, reduced: Reduced) -> dict[int, Interval]:
        """Layers with the bounds of neurons that are open."""
        better = dict(layers)
        for block, place in zip(reduced.blocks, reduced.places, strict=True):
            value = self.network.steps[block.number - 1].inputs[0]
            old = better[value]
            lower, upper = (x.flatten().clone() for x in (old.lower, old.upper))
            lower[block.entries] = reduced.lower[place]
            upper[block.entries] = reduced.upper[place]
            better[value] = Interval(lower.view_as(old.lower), upper.view_as(old.upper))
        return better

    @property
    def _deep(self) -> range:
        """The blocks that are bounded by branching: over a box the last alone gains by it."""
        count = len(self.reduced.blocks)
        return range(count - 1, count) if self.inputs.boxed else range(1, count)

    def _cost(self, splits: int) -> int:
        """How many nodes take as long as that, about."""
        neurons = sum(len(self.reduced.blocks[number]) for number in self._deep)
        return (CHEAP if self.inputs.boxed else DEAR) * splits * neurons

    def _deepen(self, splits: int) -> None:
        """Bound inner neurons by branching, for all nodes; they are closed sooner then.

        Begun when as many nodes were made as that should take, so that it never doubles the work of
        a plot that would have been done without. Children of neurons that it closes are dropped.
        """
        effort = replace(self.effort, splits=splits)
        for number in self._deep:
            ends = deepen(self.reduced, self.ground, number, effort, self.batch)
            self.reduced = self.reduced.with_bounds(number, *ends)
            self.layers = self._enter(self.layers, self.reduced)
            self.pool.tighten(self.reduced.places[number], *ends)

    def _plant(self, margins: Tensor) -> None:
        """The roots, one for each open margin, and which ground they stand on."""
        open_ = (~(margins > 0)).nonzero().squeeze(1)
        self.proved[margins > 0] = margins[margins > 0]
        unknown = torch.full_like(margins[open_], -torch.inf)  # so that nodes differ from then on
        nodes = Nodes.roots(self.reduced, open_, unknown)
        if not len(nodes):
            return
        nodes = self._harvest(improve(self.reduced, self.loose, nodes, self.effort.root, 0))
        if len(nodes) and not self.inputs.boxed:
            self.ground = self.set
            nodes = self._root(nodes)
        self._keep(nodes)

    def _root(self, nodes: Nodes) -> Nodes:
        """Roots that were bounded over the box, bounded over the set as well as that goes.

        There are few, and all other nodes begin with their duals.
        """
        often, last = self.effort.first_duals
        patient = ground(self.reduced, self.inputs, often)
        return improve(self.reduced, patient, nodes, self.effort.first, last)

    def _bound(self, nodes: Nodes, beta: Beta) -> Nodes:
        """Search and prove; what comes back carries the better bounds."""
        before = nodes.bound
        nodes = improve(self.reduced, self.ground, nodes, beta, self.effort.node_duals[1])
        return self._persist(nodes, before)

    def _persist(self, nodes: Nodes, before: Float[Tensor, " N"]) -> Nodes:
        """Search longer for open nodes, where that pays.

        Deep in a tree short steps from a parent's slopes and duals often win nothing, however many
        neurons are decided: then nearly all nodes that are open are only not searched for enough.
        """
        usual = float(gained(before, nodes.bound).mean())
        for how, patient, prospect in self.longer:
            which = prospect.worth(nodes.bound, before, usual).nonzero().squeeze(1)
            if len(which):
                found = improve(self.reduced, patient, nodes[which], how.beta, how.last)
                prospect.learn(nodes.bound[which], before[which], found.bound)
                nodes = nodes.put(which, found)
        return nodes

    def _close(self, kids: Nodes) -> None:
        """Bound new nodes, and keep those that are still open."""
        if not len(kids):
            return
        self.nodes += len(kids)
        if not self.effort.warm:
            fresh = Nodes.roots(self.reduced, kids.rows, kids.bound)
            kids = replace(kids, slopes=fresh.slopes, pulls=fresh.pulls, duals=None)
        if self.effort.intersect:
            kids, empty = propagate(self.reduced, self.ends, kids)
            kids = kids[~empty]
        if len(kids):
            self._keep(self._bound(kids, self.effort.node))

    def _press(self, nodes: Nodes) -> None:
        """Nodes in which everything is decided: only better multipliers can help."""
        for iterations in self.presses:
            harder = replace(self.effort.root, iterations=iterations, decay=1 - 2 / iterations)
            nodes = self._harvest(self._bound(nodes, harder))
            if not len(nodes):
                return
        self.stuck.scatter_reduce_(0, nodes.rows, nodes.bound, "amin")

    def _harvest(self, nodes: Nodes) -> Nodes:
        """Close the nodes that are proved, and return the others."""
        proved = nodes.bound > 0
        done = nodes[proved]
        self.proved.scatter_reduce_(0, done.rows, done.bound, "amin")
        if self.kept is not None and len(done):
            self.kept.append(done)
        return nodes[~proved]

    def _keep(self, nodes: Nodes) -> None:
        """Close what is proved, choose for the rest and keep it."""
        nodes = self._harvest(nodes)
        if not len(nodes):
            return
        chosen = self.effort.choice(self.reduced, self.ground, nodes, self.experience)
        self.pool.put(replace(nodes, choice=chosen.neurons))
        gain = float(chosen.gains.mean())
        self.expected = gain if not self.expected else 0.9 * self.expected + 0.1 * gain
        scores = self.reduced.single.scores(chosen.points)
        best = scores.amin(1).topk(min(STARTS, len(nodes)), largest=False).indices
        self.promising = chosen.points[best], chosen.rows[best]
