"""Back-substitution: a lower bound of a layer's rows, written in terms of the input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from warpcert.bound.known import Known
from warpcert.core import rounding
from warpcert.core.shapes import Float
from warpcert.net import Affine, Band, Line


@dataclass(frozen=True, eq=False)
class Form:
    """<rows, x> + constant <= the rows asked for, at every member x of the input set.

    ``rows`` is (B, R, C, H, W), ``constant`` (B, R); rounding has been taken off. ``stopped``
    (B, R) is a lower bound by itself, from intervals of the layers on the way.
    """

    rows: Float[Tensor, "B R C H W"]
    constant: Float[Tensor, "B R"]
    stopped: Float[Tensor, "B R"]

    def bound(self, minimum: Float[Tensor, "B R"]) -> Float[Tensor, "B R"]:
        """The rows' lower bound, given a lower bound of <rows, x>; NaN counts as -inf."""
        total = self.constant + minimum
        total = total - rounding.summation(2) * (self.constant.abs() + minimum.abs())
        return _known(torch.fmax(total, self.stopped))


def backward(
    known: Known,
    rows: Float[Tensor, "B R ..."],
    value: int,
    bands: Mapping[int, Band] | None = None,
    intersect: bool = True,
    careful: bool = True,
) -> Form:
    """Write <rows, value> from below as a linear form of the input.

    ``bands`` (B, R, ...) replace those known, row by row. Sound, because at an affine step
    <a, W z + b> = <W^T a, z> + <a, b>, and at an activation a+ f(z) + a- f(z) is at least a+
    times the line below plus a- times the line above. Rounded rows are as good as any, once
    their error is paid for: it is at most `rounding.backward` times |a| times the step's size.
    With ``intersect`` the rows are also minimised over the intervals of layers on the way.
    A search, which proves nothing, may leave out the rounding by not being ``careful``.
    """
    walk = Walk(known, rows, value, intersect, careful)
    for number in range(value, 0, -1):
        if number in walk.waiting:
            walk.through(number, bands or {})
    return walk.form()


def over_intervals(
    known: Known, rows: Float[Tensor, "B R ..."], value: int
) -> Float[Tensor, "B R"]:
    """Bound <rows, value> from below by intervals alone.

    Rows are substituted through affine steps, which is exact, and minimised over the intervals
    of the activations (or the input) that they then stand at.
    """
    walk = Walk(known, rows, value, intersect=True, careful=True)
    for number in range(value, 0, -1):
        affine = isinstance(known.network.steps[number - 1].node, Affine)
        if affine and number in walk.waiting:
            walk.through(number, {})
    walk.stop()
    return _known(walk.stopped)


class Walk:
    """Rows that wait at values, by number, and what has been collected on the way there.

    Whoever lets rows wait at an affine step's output also pays for that step: for <a, b>, and
    for the rounding of W^T a. ``constant`` is what has been added up, and ``error`` what its
    rounding and that of the rows grow with.
    """

    def __init__(
        self, known: Known, rows: Tensor, value: int, intersect: bool, careful: bool
    ) -> None:
        self.known, self.careful = known, careful
        self.intersect = intersect and careful
        self.waiting: dict[int, Tensor] = {}
        self.constant = rows.new_zeros(rows.shape[:2])
        self.error = rows.new_zeros(rows.shape[:2])
        self.stopped = rows.new_full(rows.shape[:2], -math.inf)
        self.value = value
        self._wait(value, rows)
        self._pay(value, rows)

    def through(self, number: int, bands: Mapping[int, Band]) -> None:
        """Pass the step behind which rows wait."""
        step = self.known.network.steps[number - 1]
        if isinstance(step.node, Affine):
            parts = step.node.adjoint(self.waiting.pop(number))
            for k, part in zip(step.inputs, parts, strict=True):
                self._wait(k, part)
                self._pay(k, part)
            return
        rows = self.waiting.pop(number)
        band = bands.get(number) or _for_rows(self.known.bands[number])
        self._wait(step.inputs[0], self._activation(number, band, rows))

    def stop(self) -> None:
        """Try the intervals of the values where rows wait: activations', or the input's."""
        total, error = self.constant, self.error
        for k, rows in self.waiting.items():
            box = self.known.values[k]
            total = total + _inner(rows.clamp(min=0), box.lower[:, None])
            total = total + _inner(rows.clamp(max=0), box.upper[:, None])
            error = error + _inner(rows.abs(), self._size(k)[:, None])
        self.stopped = torch.fmax(self.stopped, self._less(total, error))

    def form(self) -> Form:
        """What arrived at the input; rows that overflowed say nothing."""
        rows = self.waiting.get(0)
        if rows is None:  # nothing depends on the input
            rows = self.constant.new_zeros((*self.constant.shape, *self.known.network.input_shape))
        constant = self._less(self.constant, self.error) if self.careful else self.constant
        fine = torch.isfinite(rows.detach().flatten(2).sum(2))
        if not bool(fine.all()):
            fine = torch.isfinite(rows.detach()).flatten(2).all(2)
            rows = torch.where(fine[..., None, None, None], rows, 0.0)
            constant = torch.where(fine, constant, -math.inf)
        return Form(rows, constant, self.stopped)

    def _less(self, total: Tensor, error: Tensor) -> Tensor:
        """What is left of a total when its rounding is taken off."""
        unit, floor = self.rounding
        return total - (unit * error + floor[:, None])

    @cached_property
    def rounding(self) -> tuple[float, Tensor]:
        """What errors are multiplied by, and what underflow takes from each image (B,)."""
        nodes = [step.node for step in self.known.network.steps[: self.value]]
        values = self.known.values[: self.value + 1]
        terms = max(x.lower[0].numel() for x in values)
        terms = max([terms, *(node.fan_out for node in nodes if isinstance(node, Affine))])
        sums = torch.stack([(x.magnitude + 1).flatten(1).sum(1) for x in values]).sum(0)
        return rounding.backward(terms, self.value), sums * rounding.underflow(terms)

    def _wait(self, value: int, rows: Tensor) -> None:
        self.waiting[value] = self.waiting[value] + rows if value in self.waiting else rows

    def _pay(self, value: int, rows: Tensor) -> None:
        """Collect an affine step's constant, and |a| times the size of its terms."""
        node = self.known.network.steps[value - 1].node if value else None
        if not isinstance(node, Affine):
            return
        if node.offset is not None:
            self.constant = self.constant + _inner(rows, node.offset.expand(node.shape)[None, None])
        if self.careful:
            self.error = self.error + _inner(rows.abs(), self._size(value)[:, None])

    def _size(self, value: int) -> Tensor:
        """What rounding at a value grows with: an affine step's terms, and the value itself."""
        size = self.known.values[value].magnitude + rounding.FAINT
        return size + self.known.sizes[value] if value in self.known.sizes else size

    def _activation(self, number: int, band: Band, rows: Tensor) -> Tensor:
        """Replace the activation by its lines, and pay for what the rows then wait at.

        Where no other rows wait, those here are minimised over the activation's interval, too.
        """
        stop = self.intersect and not self.waiting
        up, down = rows.clamp(min=0), rows.clamp(max=0)
        below, above = self._columns(number, band.below), self._columns(number, band.above)
        if stop:
            box, size = self.known.values[number], self._size(number)[:, None]
            below += [box.lower[:, None], size]
            above += [box.upper[:, None], size]
        above[1::2] = [-x for x in above[1::2]]  # sizes go with |a|
        found = _inners(up, below) + _inners(down, above)
        if stop:
            reached = self._less(self.constant + found[..., 2], self.error + found[..., 3])
            self.stopped = torch.fmax(self.stopped, reached)
        self.constant = self.constant + found[..., 0]
        if self.careful:
            self.error = self.error + found[..., 1]
        return up * band.below.slope + down * band.above.slope

    def _columns(self, number: int, line: Line) -> list[Tensor]:
        """What a unit of a row adds to the constant and, if careful, to the error."""
        (value,) = self.known.network.steps[number - 1].inputs
        node = self.known.network.steps[value - 1].node if value else None
        gain, lost = line.intercept, line.intercept.abs()
        if isinstance(node, Affine) and node.offset is not None:
            offset = node.offset.expand(node.shape)[None, None]
            gain = gain + line.slope * offset
            lost = lost + (line.slope * offset).abs()
        if not self.careful:
            return [gain]
        size = 2 * line.slope.abs() * self._size(value)[:, None]
        return [gain, lost + size + rounding.FAINT]


def _for_rows(band: Band) -> Band:
    """A band (B, ...) as one for rows (B, 1, ...)."""
    below, above = band.below, band.above
    return Band(
        Line(below.slope[:, None], below.intercept[:, None]),
        Line(above.slope[:, None], above.intercept[:, None]),
    )


def _inner(rows: Tensor, x: Tensor) -> Tensor:
    """<row, x>: rows (B, R, ...), x (B or 1, R or 1, ...) -> (B, R)."""
    return _inners(rows, [x])[..., 0]


def _inners(rows: Tensor, columns: list[Tensor]) -> Tensor:
    """<row, x> for several x (B or 1, R or 1, ...) -> (B, R, number of x).

    Where they are the same for all rows of an image, as a product of matrices.
    """
    a, flat = rows.flatten(2), [x.flatten(2) for x in columns]
    if all(x.shape[1] == 1 for x in flat):
        wide = [x.expand(a.shape[0], -1, -1) for x in flat]
        return a @ torch.cat(wide, dim=1).transpose(1, 2)
    return torch.stack([(a * x).sum(2) for x in flat], dim=2)


def _known(bound: Tensor) -> Tensor:
    """NaN as -inf; and +inf, which only an overflow can make, as well."""
    return bound.nan_to_num(nan=-math.inf, posinf=-math.inf, neginf=-math.inf)
