"""Polytope: a set of images as a linear program's constraints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpcert.core.errors import Unsound

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Block(NamedTuple):
    """Rows (m,) with equally many entries each: columns and values (m, k), lower and upper (m,)."""

    columns: Ints
    values: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class Rows:
    """The constraints lower <= A z <= upper, either end may be infinite; A is stored by rows.

    Row i has the entries ``values[starts[i]:starts[i + 1]]`` in the ``columns`` alike.
    """

    starts: Ints
    columns: Ints
    values: Floats
    lower: Floats
    upper: Floats

    def __post_init__(self) -> None:
        """Refuse what no point can satisfy or nobody can read: a defect of whoever made it."""
        count = len(self.lower)
        if len(self.upper) != count or len(self.starts) != count + 1:
            raise Unsound(f"{len(self.starts)} starts, {count} and {len(self.upper)} ends of rows")
        if not len(self.columns) == len(self.values) == self.starts[-1]:
            raise Unsound(f"{len(self.columns)} columns, {len(self.values)} values of entries")
        if not np.isfinite(self.values).all():
            raise Unsound("a row has an infinite entry, or NaN")
        if not (self.lower <= self.upper).all():
            raise Unsound("a row's lower end is above its upper end, or NaN")

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> Rows:
        """Join blocks of rows; entries that are zero are left out."""
        columns, values, ends, counts = [], [], [], [np.zeros(1, dtype=np.int64)]
        for block in blocks:
            present = block.values != 0
            columns.append(block.columns[present])
            values.append(block.values[present])
            counts.append(present.sum(1))
            ends.append(np.stack([block.lower, block.upper]))
        lower, upper = np.concatenate([np.zeros((2, 0)), *ends], axis=1)
        return cls(
            np.cumsum(np.concatenate(counts)),
            np.concatenate([np.zeros(0, dtype=np.int64), *columns]),
            np.concatenate([np.zeros(0), *values]),
            lower,
            upper,
        )

    def joined(self, other: Rows) -> Rows:
        """These rows, and others behind them."""
        return Rows(
            np.concatenate([self.starts, self.starts[-1] + other.starts[1:]]),
            np.concatenate([self.columns, other.columns]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.lower, other.lower]),
            np.concatenate([self.upper, other.upper]),
        )

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def numbers(self) -> Ints:
        """The row that each entry belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def times(self, z: Floats) -> Floats:
        """A z."""
        sums = np.bincount(self.numbers, self.values * z[self.columns], len(self))
        return sums.astype(np.float64, copy=False)  # of no entries they would be integers


@dataclass(frozen=True, eq=False)
class Polytope:
    """One image's set: points z with lower <= z <= upper (finite) and the rows' constraints.

    ``image`` (C, H, W) says which variables are the image's entries; ``parameters`` which are those
    of `InputSet.realise`, in their shape without the batch axis. Every member of the input set,
    with its parameters, is part of some point of the polytope: what is minimal over the polytope
    is no more than what is minimal over the set.
    """

    lower: Floats
    upper: Floats
    rows: Rows
    image: Ints
    parameters: Ints

    def __post_init__(self) -> None:
        """Refuse infinite or empty ranges and columns out of range."""
        if self.lower.shape != self.upper.shape or not (self.lower <= self.upper).all():
            raise Unsound("a polytope's lower ends are above its upper ends, or NaN")
        if not np.isfinite([self.lower, self.upper]).all():
            raise Unsound("a polytope's variable is not bounded")
        for index in (self.rows.columns, self.image, self.parameters):
            if index.size and not (index.min() >= 0 and index.max() < len(self.lower)):
                raise Unsound(f"a polytope of {len(self.lower)} variables refers to others")

    def excess(self, z: Floats) -> float:
        """By how much a point leaves the polytope; at most 0 for members, inf for NaN."""
        product = self.rows.times(z)
        beyond = [self.lower - z, z - self.upper, self.rows.lower - product]
        worst = np.concatenate([*beyond, product - self.rows.upper]).max()
        return float(np.nan_to_num(worst, nan=np.inf))
