"""Effort: how hard a tree tries, and what of it is switched off for comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from warpcert.bound import Beta, Choice
from warpcert.core.rounding import FINEST


class Longer(NamedTuple):
    """A longer search for nodes: iterations, and steps on the duals in these and at their end.

    It is made for nodes of which it closes as large a part as ``least``, or wins much: `Prospect`.
    """

    beta: Beta
    often: int
    last: int
    least: float


LONGER = (
    Longer(Beta(iterations=12, rate=0.1, pull_rate=0.07, decay=0.83, every=2), 20, 60, 0.3),
    Longer(Beta(iterations=24, rate=0.1, pull_rate=0.07, decay=0.91, every=2), 30, 90, 0.5),
)
"""They take two and five times as long as an ordinary search. Measured on children of nodes of one
digit, gamma 0.1, 20 to 300 s after its beginning: ordinary searches close 31 per cent of them, the
first of these 55, the second a quarter of what that leaves."""


@dataclass(frozen=True)
class Effort:
    """Hyper-parameters of `Tree`; what they are does not touch soundness.

    ``root`` is how hard to try for roots over the box, ``first`` over a coupled set; ``inner`` is
    for neurons and ``node`` for all other nodes. ``first_duals``, ``inner_duals`` and
    ``node_duals`` are steps on the set's duals now and then in those searches, and at their ends;
    ``split`` and ``split_duals``: for neurons over a set that are split, see `deepen`. ``longer``:
    searches, each longer than the one before, for nodes where these pay. ``batch``: how many nodes
    are treated at once on a CPU, and ``memory``: bytes that those which wait may take; a GPU has
    room for more. ``splits``: how often either end of the last layer's neurons is split where a
    plot takes long, see `deepen`; 0 for never. ``set_splits``: the same for all neurons behind
    others over a coupled set, first a few and, where a plot takes longer, more. ``tries``: how many
    cuts of a cell are tried on a CPU, see `Trial`, and ``slices``: how many cells are cut at once;
    a GPU treats more. ``fields``, ``relus``: which kinds of branching are used. ``trials``: whether
    cuts are tried before one is made. ``duals``: whether the flow's duals are. ``intersect``:
    whether nodes' intervals are propagated and intersected. ``warm``: whether children start from
    their parent's slopes, multipliers and duals. ``free``: whether the whole is also tried with
    free pixels, see `Aside`. A cell is given up when its widest box is narrower than ``finest``
    times delta, when it was cut ``levels`` times, or when ``cells`` wait already: its margin is
    then too close to zero to be told from it.
    """

    root: Beta = field(default_factory=lambda: Beta(iterations=40, rate=0.2, decay=0.95))
    first: Beta = field(default_factory=lambda: Beta(iterations=100, rate=0.1, decay=0.98))
    inner: Beta = field(default_factory=lambda: Beta(iterations=20, rate=0.2, decay=0.9))
    node: Beta = field(
        default_factory=lambda: Beta(iterations=6, rate=0.05, pull_rate=0.03, decay=0.8)
    )
    longer: tuple[Longer, ...] = LONGER
    split: Beta = field(
        default_factory=lambda: Beta(12, rate=0.1, pull_rate=0.07, decay=0.83, every=2)
    )
    choice: Choice = field(default_factory=Choice)
    batch: int = 256
    splits: int = 64
    set_splits: tuple[int, ...] = (4, 64, 256)
    tries: int = 96
    slices: int = 16
    first_duals: tuple[int, int] = (20, 400)
    inner_duals: tuple[int, int] = (20, 200)
    node_duals: tuple[int, int] = (20, 30)
    split_duals: int = 90
    passes: int = 1
    cells: int = 4096
    finest: float = FINEST
    levels: int = 120
    memory: float = 2e9
    fields: bool = True
    relus: bool = True
    trials: bool = True
    duals: bool = True
    intersect: bool = True
    warm: bool = True
    free: bool = True


PLAIN = Effort(inner=Beta(iterations=0), passes=0, splits=0, duals=False, intersect=False)
"""For proofs that are to be checked again: only bounds that simple code can find, too."""
