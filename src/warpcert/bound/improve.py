"""improve: better bounds of nodes' own margins, searched for and then proved."""

from __future__ import annotations

from dataclasses import replace

import torch

from warpcert.bound.beta import Beta
from warpcert.bound.careful import careful
from warpcert.bound.goal import Goal
from warpcert.bound.ground import Ground
from warpcert.bound.nodes import Nodes
from warpcert.bound.reduced import Reduced


def improve(reduced: Reduced, ground: Ground, nodes: Nodes, beta: Beta, steps: int) -> Nodes:
    """The nodes with what a search has found, and the better of their bounds and what it proves.

    Sound, because `careful` is, and of two lower bounds the larger one holds. Where there are
    duals, ``steps`` are spent on them before the end.
    """
    goal = Goal.margins(reduced, nodes.rows)
    nodes = beta(reduced, ground, nodes, goal)
    spend = steps if nodes.duals is not None else 0
    bound, duals = careful(reduced, ground, nodes, goal, spend)
    return replace(nodes, duals=duals, bound=torch.maximum(nodes.bound, bound))
