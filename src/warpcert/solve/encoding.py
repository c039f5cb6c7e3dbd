"""Encoding: a network on one image's set, as the constraints of a program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.errors import Unsound
from warpcert.core.interval import Interval
from warpcert.core.polytope import Floats, Ints, Polytope
from warpcert.net import Activation, Affine, Hinge, Network, Step
from warpcert.net.average import AveragePool
from warpcert.solve.matrix import Entries, matrix_entries
from warpcert.solve.program import Program
from warpcert.solve.sheet import Sheet, Term

ZERO, ABSENT = -1, -2
"""In place of a column: the entry is the constant 0, or nothing asked for depends on it."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Encoding:
    """The constraints, and which column stands for which entry of which value.

    ``columns`` maps a value's number to the columns of its entries (flat), or `ZERO` or `ABSENT`;
    ``binaries`` an activation's to those of its binaries, likewise. Every member of the input set,
    with what the network makes of it, is a point of ``program``: what is least over the program is
    no more than what is least over the set.
    """

    network: Network
    polytope: Polytope
    program: Program
    columns: Mapping[int, Ints]
    binaries: Mapping[int, Ints] = field(default_factory=dict)

    def cost(self, value: int, row: Floats) -> Floats:
        """The cost vector of <row, value>."""
        columns, weights = self.columns[value], row.ravel()
        asked = (weights != 0) & (columns != ZERO)
        if (columns[asked] == ABSENT).any():
            raise ValueError(f"value {value} is not part of the program")
        cost = np.zeros_like(self.program.lower)
        np.add.at(cost, columns[asked], weights[asked])
        return cost

    def point(self, image: Tensor) -> tuple[Floats, Mask]:
        """What an image (C, H, W) says of the columns, and of which: all but the input set's own.

        Computed in float64, so off by its rounding.
        """
        point = np.zeros_like(self.program.lower)
        known = np.zeros(len(point), dtype=np.bool_)
        values = self.network.values(image[None].to(torch.float64))
        for k, columns in self.columns.items():
            at = columns >= 0
            point[columns[at]] = values[k].numpy().ravel()[at]
            known[columns[at]] = True
        for k, columns in self.binaries.items():
            at = columns >= 0
            before = values[self.network.steps[k - 1].inputs[0]].numpy().ravel()
            point[columns[at]] = before[at] > 0
            known[columns[at]] = True
        return point, known

    def check_member(self, image: Tensor) -> None:
        """Raise `Unsound` where a member's image, and what becomes of it, breaks a constraint.

        A program without points has the bound infinity, which proves nothing but a defect. Rows of
        the input set's own are not tested: their other variables are not known.
        """
        point, known = self.point(image)
        if not np.isfinite(point).all():
            return  # values that are no numbers satisfy nothing, and prove nothing
        low, high, rows = self.program.lower, self.program.upper, self.program.rows
        allowed = rounding.TRACED * (1 + np.abs(point))
        outside = known & ((point < low - allowed) | (point > high + allowed))
        product = rows.times(point)
        size = np.bincount(rows.numbers, np.abs(rows.values * point[rows.columns]), len(rows))
        slack = rounding.TRACED * (1 + size)
        whole = np.bincount(rows.numbers, ~known[rows.columns], len(rows)) == 0
        broken = whole & ((product < rows.lower - slack) | (product > rows.upper + slack))
        if outside.any() or broken.any():
            raise Unsound(
                f"a member of the input set is no point of its program: {int(outside.sum())} "
                f"columns and {int(broken.sum())} rows exclude it"
            )


def encode(
    network: Network,
    polytope: Polytope,
    values: Sequence[Interval],
    value: int,
    wanted: Mask | None = None,
    *,
    exact: bool = False,
    widen: float = 0.0,
) -> Encoding:
    """The constraints between an image's polytope and a value's wanted entries (flat; None: all).

    ``values`` are intervals (...) of all values up to that one, proved for this image. Neurons
    whose sign they know are straight; of the others a relaxation is taken, a hinge's triangle or
    the two lines around another activation. ``exact``: hinges have a binary each, as Tjeng et al.
    have it, so that they are what they are; others are relaxed all the same. ``widen``: intervals
    are wider by this, relative to 1 + |end|, in what a solver with tolerances sees of them.

    Sound, because every row holds for what the network makes of any member: affine rows are
    equations with the network's own numbers (and a slack where these are rounded), a hinge's rows
    are proved in `_Writer`, and other activations' lines by `Activation.band`. Entries that the
    value does not depend on have no columns.
    """
    return _Writer(network, polytope, values, exact, widen).write(value, wanted)


class _Writer:
    """What is needed of every value, found from the last one back; then columns, forwards."""

    def __init__(
        self,
        network: Network,
        polytope: Polytope,
        values: Sequence[Interval],
        exact: bool,
        widen: float,
    ) -> None:
        self.network, self.polytope, self.exact = network, polytope, exact
        self.ends = [(x.lower.cpu().numpy().ravel(), x.upper.cpu().numpy().ravel()) for x in values]
        self.wide = [
            (low - widen * (1 + np.abs(low)), high + widen * (1 + np.abs(high)))
            for low, high in self.ends
        ]
        self.sheet = Sheet(polytope)
        self.columns: dict[int, Ints] = {0: polytope.image.ravel()}
        self.binaries: dict[int, Ints] = {}

    def write(self, value: int, wanted: Mask | None) -> Encoding:
        sizes = [math.prod(shape) for shape in self.network.shapes]
        need = [np.zeros(size, dtype=np.bool_) for size in sizes[: value + 1]]
        need[value][:] = True if wanted is None else wanted
        entries: dict[int, tuple[Entries, ...]] = {}
        for number in range(value, 0, -1):
            step = self.network.steps[number - 1]
            at = need[number].nonzero()[0]
            if isinstance(step.node, Affine):
                entries[number] = matrix_entries(step.node, at) if len(at) else ()
                for k, part in zip(step.inputs, entries[number], strict=False):
                    need[k][part.columns] = True
            else:
                need[step.inputs[0]][at[~self._vanishes(step, at)]] = True
        for number in range(1, value + 1):
            step, at = self.network.steps[number - 1], need[number].nonzero()[0]
            self.columns[number] = np.full(sizes[number], ABSENT)
            if not len(at):
                continue
            if isinstance(step.node, Affine):
                self._affine(number, step, at, entries[number])
            elif isinstance(step.node, Hinge):
                self._hinge(number, step, at)
            else:
                self._between(number, step, at)
        lower, upper, rows, integral = self.sheet.finished()
        program = Program(
            np.zeros_like(lower), lower, upper, rows, integral if integral.any() else None
        )
        return Encoding(self.network, self.polytope, program, self.columns, self.binaries)

    # Affine steps

    def _affine(self, number: int, step: Step, at: Ints, entries: tuple[Entries, ...]) -> None:
        """Rows W x - z = -b; an entry that is another one, or zero, has no column of its own."""
        node = step.node
        assert isinstance(node, Affine)
        offset = np.zeros(math.prod(node.shape))
        if node.offset is not None:
            offset = node.offset.expand(node.shape).numpy().ravel()
        place = np.full(len(offset), -1)
        place[at] = np.arange(len(at))
        numbers = np.concatenate([place[part.rows] for part in entries])
        columns = np.concatenate(
            [self.columns[k][part.columns] for k, part in zip(step.inputs, entries, strict=True)]
        )
        factors = np.concatenate([part.values for part in entries])
        live = columns != ZERO
        numbers, columns, factors = numbers[live], columns[live], factors[live]
        (numbers, columns, factors), slack = self.sheet.merged(numbers, columns, factors, len(at))
        if isinstance(node, AveragePool):
            slack = slack + self._rounded(numbers, columns, factors, len(at))
        count, shift = np.bincount(numbers, minlength=len(at)), offset[at]
        only = np.full(len(at), ZERO)
        only[numbers] = columns  # of a row with one entry, that one
        unit = np.zeros(len(at))
        unit[numbers] = factors
        same = (shift == 0) & (slack == 0) & ((count == 0) | ((count == 1) & (unit == 1)))
        self.columns[number][at[same]] = only[same]
        fresh = (~same).nonzero()[0]
        if not len(fresh):
            return
        low, high = self.wide[number]
        made = self.sheet.columns(low[at[fresh]], high[at[fresh]])
        self.columns[number][at[fresh]] = made
        row = np.full(len(at), -1)
        row[fresh] = np.arange(len(fresh))
        kept = ~same[numbers]
        terms = [
            (row[numbers[kept]], columns[kept], factors[kept]),
            (np.arange(len(fresh)), made, np.full(len(fresh), -1.0)),
        ]
        self.sheet.rows(terms, -shift[fresh] - slack[fresh], -shift[fresh] + slack[fresh])

    def _rounded(self, numbers: Ints, columns: Ints, factors: Floats, count: int) -> Floats:
        """What one rounding of every factor may change of a row's value."""
        lost = np.zeros(count)
        np.add.at(lost, numbers, np.abs(factors) * self.sheet.magnitude(columns))
        return rounding.summation(1) * lost

    # Activations

    def _vanishes(self, step: Step, at: Ints) -> Mask:
        """Where a hinge is zero on its whole interval."""
        assert isinstance(step.node, Activation)
        if not isinstance(step.node, Hinge):
            return np.zeros(len(at), dtype=np.bool_)
        low, high = (end[at] for end in self.ends[step.inputs[0]])
        left, right = step.node.sides
        return ((high <= 0) & (left == 0)) | ((low >= 0) & (right == 0))

    def _hinge(self, number: int, step: Step, at: Ints) -> None:
        """Straight where the sign is known; elsewhere the triangle, or with a binary exactly."""
        node = step.node
        assert isinstance(node, Hinge)
        (source,) = step.inputs
        before = self.columns[source][at]
        low, high = (end[at] for end in self.ends[source])
        slope = np.where(low >= 0, node.sides[1], node.sides[0])
        bent = (low < 0) & (high > 0) & (before >= 0)
        made = np.where(self._vanishes(step, at) | (before == ZERO), ZERO, ABSENT)
        same = ~bent & (made == ABSENT) & (slope == 1)
        made[same] = before[same]
        straight = ~bent & (made == ABSENT)
        ends = tuple(end[at] for end in self.wide[number])
        made[straight] = self.sheet.columns(ends[0][straight], ends[1][straight])
        zero = np.zeros(int(straight.sum()))
        self._line(made[straight], before[straight], slope[straight], zero, zero)
        if bent.any():
            made[bent] = self.sheet.columns(ends[0][bent], ends[1][bent])
            self._bent(number, node, at[bent], made[bent], before[bent])
        self.columns[number][at] = made

    def _bent(self, number: int, node: Hinge, at: Ints, after: Ints, before: Ints) -> None:
        """Rows of hinges with slopes a left of zero and b right of it, on l < 0 < u.

        Convex (a < b): y >= a z and y >= b z, since y is the larger of the two, and y is below the
        chord. Exactly: y <= a z + (b - a) u d and y <= b z - (b - a) l (1 - d) for a binary d, as
        with d = 1 where z > 0, else 0, one is y <= y and the other's right side is larger by
        (b - a) times u - z or z - l. Products are rounded up. Concave: the same of -y.
        """
        source = self.network.steps[number - 1].inputs[0]
        low, high = (end[at] for end in self.wide[source])
        left, right = node.sides
        sign = 1.0 if left <= right else -1.0
        count, none = len(at), np.full(len(at), np.inf)
        for side in (left, right):
            self._line(after, before, np.full(count, side), *_turned(np.zeros(count), none, sign))
        band = node.band(torch.from_numpy(low), torch.from_numpy(high))
        chord = band.above if sign > 0 else band.below
        slope, intercept = chord.slope.numpy(), chord.intercept.numpy()
        if not self.exact:
            self._line(after, before, slope, *_turned(-none, sign * intercept, sign))
            return
        binary = self.sheet.columns(np.zeros(count), np.ones(count), integral=True)
        self.binaries[number] = np.full(math.prod(self.network.shapes[number]), ABSENT)
        self.binaries[number][at] = binary
        gap = abs(right - left) * (1 + 4 * rounding.UNIT)
        rise, fall = (gap * end * (1 + 4 * rounding.UNIT) + rounding.FAINT for end in (high, -low))
        for side, factor, most in ((left, -rise, 0 * fall), (right, fall, fall)):
            numbers = np.arange(count)
            terms = [
                (numbers, after, np.full(count, sign)),
                (numbers, before, np.full(count, -sign * side)),
                (numbers, binary, factor),
            ]
            self.sheet.rows(terms, -none, most)

    def _between(self, number: int, step: Step, at: Ints) -> None:
        """Any other activation is between its two lines."""
        assert isinstance(step.node, Activation)
        (source,) = step.inputs
        before = self.columns[source][at]
        low, high = (torch.from_numpy(end[at]) for end in self.ends[source])
        made = self.sheet.columns(*(end[at] for end in self.wide[number]))
        self.columns[number][at] = made
        band, free = step.node.band(low, high), np.full(len(at), np.inf)
        for line, ends in (
            (band.below, (band.below.intercept.numpy(), free)),
            (band.above, (-free, band.above.intercept.numpy())),
        ):
            self._line(made, before, line.slope.numpy(), *ends)

    def _line(self, after: Ints, before: Ints, slope: Floats, lower: Floats, upper: Floats) -> None:
        """Rows lower <= y - slope z <= upper; z may be the constant 0."""
        numbers = np.arange(len(after))
        live = before >= 0
        terms: list[Term] = [
            (numbers, after, np.ones(len(after))),
            (numbers[live], before[live], -slope[live]),
        ]
        self.sheet.rows(terms, lower, upper)


def _turned(lower: Floats, upper: Floats, sign: float) -> tuple[Floats, Floats]:
    """The ends of a row, or those of the same row for -y: exchanged, with the other sign."""
    return (lower, upper) if sign > 0 else (-upper, -lower)
