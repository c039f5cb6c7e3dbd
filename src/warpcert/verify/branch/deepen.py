"""deepen: bounds of one layer's neurons by branching on the layers before it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from warpcert.bound import (
    BoxGround,
    Experience,
    Ground,
    Nodes,
    Reduced,
    improve,
    propagate,
    straight_ends,
)
from warpcert.core.clock import tick
from warpcert.core.errors import Unsound
from warpcert.core.shapes import Bool, Float
from warpcert.verify.branch.effort import Effort


def deepen(
    reduced: Reduced, ground: Ground, number: int, effort: Effort, batch: int
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Lower and upper bounds of the inputs of a block's n neurons, never looser than before.

    Every neuron's two ends are problems of their own, like margins: z and -z, written in the blocks
    before. In each the leaves with the least bounds are split, ``effort.splits`` times or until the
    neuron's sign is known; ``batch`` leaves at once, all ends together. Sound, because the leaves
    of an end cover all members, so that the least of their bounds holds for each.
    """
    block, place = reduced.blocks[number], reduced.places[number]
    ends = reduced.ends_of(number)
    known = torch.cat([reduced.lower[place], -reduced.upper[place]])
    rows = torch.arange(len(known), device=known.device)
    leaves = _Leaves(ends, ground, effort, len(known))
    leaves.add(Nodes.roots(ends, rows, known))
    left = effort.splits
    while left > 0:
        tick()
        made = leaves.split(min(left, max(1, batch // len(known))))
        if not made:
            break
        left -= made
    least = leaves.least
    if bool((least == torch.inf).any()):
        raise Unsound("branching on a neuron has left no member of the set")
    better = torch.maximum(known, least)
    return better[: len(block)], -better[len(block) :]


@dataclass(eq=False)
class _Leaves:
    """The leaves of many small trees, one for each end."""

    reduced: Reduced
    ground: Ground
    effort: Effort
    count: int

    def __post_init__(self) -> None:
        self.straight = straight_ends(self.reduced, self.ground)
        device = self.reduced.lower.device
        self.experience = Experience(self.count, len(self.reduced), device)
        self.closed = torch.full_like(self.reduced.margins.constant, torch.inf)
        self.nodes: Nodes | None = None

    @property
    def least(self) -> Float[Tensor, " ends"]:
        """The least bound of all leaves of each end."""
        if self.nodes is None:
            return self.closed
        return self.closed.scatter_reduce(0, self.nodes.rows, self.nodes.bound, "amin")

    def split(self, each: int) -> int:
        """Decide one more neuron in the worst leaves of every end; how many of one end, at most."""
        if self.nodes is None:
            return 0
        worst = self._worst(self.nodes, each)
        if not bool(worst.any()):
            return 0
        made = int(self.nodes.rows[worst].bincount().max())
        kids, empty = propagate(self.reduced, self.straight, self.nodes[worst].children())
        self.nodes = self.nodes[~worst]
        self.add(kids[~empty])
        return made

    def add(self, nodes: Nodes) -> None:
        """Bound new leaves; of ends that are above zero nothing more is asked."""
        if not len(nodes):
            return
        effort, fresh = self.effort, self.nodes is None
        later = effort.node if isinstance(self.ground, BoxGround) else effort.split
        beta, steps = (effort.root, effort.inner_duals[1]) if fresh else (later, effort.split_duals)
        nodes = improve(self.reduced, self.ground, nodes, beta, steps)
        done = nodes.bound > 0
        self.closed.scatter_reduce_(0, nodes.rows[done], nodes.bound[done], "amin")
        nodes = nodes[~done]
        if len(nodes):
            chosen = effort.choice(self.reduced, self.ground, nodes, self.experience)
            nodes = replace(nodes, choice=chosen.neurons)
        self.nodes = nodes if fresh or self.nodes is None else Nodes.join([self.nodes, nodes])

    def _worst(self, nodes: Nodes, each: int) -> Bool[Tensor, " N"]:
        """Which leaves of every end have the least bounds, if they have a neuron to decide."""
        order = nodes.bound.argsort(stable=True)
        order = order[nodes.rows[order].argsort(stable=True)]
        rows = nodes.rows[order]
        begin = torch.searchsorted(rows, torch.arange(self.count, device=rows.device))
        rank = torch.arange(len(rows), device=rows.device) - begin[rows]
        worst = torch.zeros_like(nodes.bound, dtype=torch.bool)
        worst[order[rank < each]] = True
        return worst & (nodes.choice >= 0)
