"""matrix_entries: the numbers of an affine node's matrix, where they are not zero."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch

from warpcert.core.clock import tick
from warpcert.core.memory import chunk_size
from warpcert.core.polytope import Floats, Ints
from warpcert.net import Affine

WORKING_ARRAYS = 4
"""Float64 arrays of the inputs' size that one row needs, about."""


class Entries(NamedTuple):
    """Numbers of a matrix: ``values`` at (``rows``, ``columns``), flat indices of entries."""

    rows: Ints
    columns: Ints
    values: Floats


def matrix_entries(node: Affine, wanted: Ints) -> tuple[Entries, ...]:
    """The rows W_i of W x + b, for wanted entries i of the output: one part for each input.

    The node's numbers are on the CPU.

    Exact, because a row is the adjoint of a unit vector, each of whose entries is one weight times
    1, plus zeros; where a weight is a product of two numbers (average pooling), it is rounded once.
    """
    size = sum(math.prod(shape) for shape in node.inputs)
    count, cpu = math.prod(node.shape), torch.device("cpu")
    parts: list[list[Entries]] = [[] for _ in node.inputs]
    step = max(1, min(1024, chunk_size(8 * WORKING_ARRAYS * (size + count), cpu)))
    for first in range(0, len(wanted), step):
        tick()
        some = wanted[first : first + step]
        basis = torch.zeros((1, len(some), count), dtype=torch.float64)
        basis[0, torch.arange(len(some)), torch.from_numpy(some)] = 1.0
        found = node.adjoint(basis.unflatten(2, node.shape))
        for part, dense in zip(parts, found, strict=True):
            flat = dense[0].flatten(1)
            row, column = flat.nonzero(as_tuple=True)
            part.append(Entries(some[row.numpy()], column.numpy(), flat[row, column].numpy()))
    return tuple(_joined(part) for part in parts)


def _joined(parts: list[Entries]) -> Entries:
    """One after the other."""
    empty = Entries(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    rows, columns, values = zip(*parts, strict=True) if parts else ([], [], [])
    return Entries(
        np.concatenate([empty.rows, *rows]),
        np.concatenate([empty.columns, *columns]),
        np.concatenate([empty.values, *values]),
    )
