"""groups: which neurons are looked at together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from warpcert.core.polytope import Ints

PARTITION = 15
"""Neurons of a partition, as many as the paper's k."""


def groups(neurons: Sequence[int], k: int, partition: int = PARTITION) -> list[Ints]:
    """Groups of k = 2 or 3 neurons in partitions, which are made in the order given.

    Within a partition every two neurons meet in some group. For 15 neurons, 35 triples do that, and
    every two meet once: a, b and a xor b of the numbers 1 to 15. Where the third is missing, the
    first other neuron takes its place; two that are alone in their partition are a pair at most.
    """
    if k not in (2, 3):
        raise ValueError(f"groups must be of 2 or 3 neurons, got k = {k}")
    found = []
    for first in range(0, len(neurons), partition):
        part = np.array(neurons[first : first + partition], dtype=np.int64)
        if len(part) < k:
            continue
        places = itertools.combinations(range(len(part)), 2)
        if k == 3:
            made = {tuple(sorted((a, b, _third(a, b, len(part))))) for a, b in places}
            found += [part[list(place)] for place in sorted(made)]
        else:
            found += [part[list(place)] for place in places]
    return found


def _third(a: int, b: int, count: int) -> int:
    """The neuron that goes with two of a partition."""
    c = ((a + 1) ^ (b + 1)) - 1
    return c if c < count else next(c for c in range(count) if c not in (a, b))
