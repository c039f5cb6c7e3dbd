"""Back-substitution: a lower bound of a layer's rows, written in terms of the input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.bound.known import Known, magnitude
from warpcert.core import rounding
from warpcert.core.shapes import Float
from warpcert.net import Activation, Affine, Band, Step


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
        return torch.fmax(total, self.stopped).nan_to_num(
            nan=-math.inf, posinf=-math.inf, neginf=-math.inf
        )


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
    walk = _Walk(known, rows, value, intersect, careful)
    for number in range(value, 0, -1):
        walk.through(number, known.network.steps[number - 1], bands or {})
    return walk.form()


def over_intervals(
    known: Known, rows: Float[Tensor, "B R ..."], value: int
) -> Float[Tensor, "B R"]:
    """Bound <rows, value> from below by intervals alone.

    Rows are substituted through affine steps, which is exact, and minimised over the intervals
    of the activations (or the input) that they then stand at.
    """
    walk = _Walk(known, rows, value, intersect=True)
    for number in range(value, 0, -1):
        if isinstance(known.network.steps[number - 1].node, Affine):
            walk.through(number, known.network.steps[number - 1], {})
    walk.stop()
    return walk.stopped.nan_to_num(nan=-math.inf, posinf=-math.inf, neginf=-math.inf)


class _Walk:
    """Rows that wait at values, by number, and the constant collected so far."""

    def __init__(
        self, known: Known, rows: Tensor, value: int, intersect: bool, careful: bool = True
    ) -> None:
        self.known, self.intersect, self.careful = known, intersect, careful
        self.waiting: dict[int, Tensor] = {value: rows}
        self.constant = rows.new_zeros(rows.shape[:2])
        self.error = rows.new_zeros(rows.shape[:2])
        self.stopped = rows.new_full(rows.shape[:2], -math.inf)
        self.steps = value

    def through(self, number: int, step: Step, bands: Mapping[int, Band]) -> None:
        """Pass one step, if rows wait behind it."""
        if number not in self.waiting:
            return
        if isinstance(step.node, Activation) and self.intersect:
            self.stop()
        rows = self.waiting.pop(number)
        if isinstance(step.node, Affine):
            made = self._affine(number, step.node, rows)
        else:
            band = bands.get(number) or _for_rows(self.known.bands[number])
            made = (self._activation(step.inputs[0], band, rows),)
        for k, part in zip(step.inputs, made, strict=True):
            self.waiting[k] = self.waiting[k] + part if k in self.waiting else part

    def form(self) -> Form:
        """What arrived at the input."""
        shape = (*self.constant.shape, *self.known.network.input_shape)
        rows = self.waiting.get(0)
        if rows is None:  # nothing depends on the input
            rows = self.constant.new_zeros(shape)
        return Form(rows, self.constant - self._lost(), self.stopped)

    def _affine(self, number: int, node: Affine, rows: Tensor) -> tuple[Tensor, ...]:
        if node.offset is not None:
            self.constant = self.constant + _inner(rows, node.offset.expand(node.shape)[None, None])
        if self.careful:
            known = self.known
            size = known.sizes[number] + magnitude(known.values[number])
            self.error = self.error + _inner(rows.abs(), size[:, None])
        return node.adjoint(rows)

    def _activation(self, value: int, band: Band, rows: Tensor) -> Tensor:
        up, down = rows.clamp(min=0), rows.clamp(max=0)
        for part, line in ((up, band.below), (down, band.above)):
            self.constant = self.constant + _inner(part, line.intercept)
            if self.careful:
                size = 2 * line.slope.abs() * magnitude(self.known.values[value])[:, None]
                size = size + line.intercept.abs()
                self.error = self.error + _inner(part, size).abs()
        return up * band.below.slope + down * band.above.slope

    def _lost(self) -> Tensor | float:
        """Rounding of all that has been collected; twice, for that of the error itself."""
        if not self.careful:
            return 0.0
        most = max(value.lower[0].numel() for value in self.known.values)
        fan = max(
            (s.node.fan_out for s in self.known.network.steps if isinstance(s.node, Affine)),
            default=1,
        )
        return rounding.backward(max(most, fan), self.steps) * self.error

    def stop(self) -> None:
        """Try the intervals of the values where rows wait now."""
        with torch.no_grad():
            total = self.constant - self._lost()
            for k, rows in self.waiting.items():
                box = self.known.values[k]
                up, down = rows.clamp(min=0), rows.clamp(max=0)
                low = _inner(up, box.lower[:, None]) + _inner(down, box.upper[:, None])
                lost = rounding.backward(rows[0, 0].numel(), self.steps)
                total = total + low - lost * _inner(rows.abs(), magnitude(box)[:, None])
            self.stopped = torch.fmax(self.stopped, total)


def _for_rows(band: Band) -> Band:
    """A band (B, ...) as one for rows (B, 1, ...)."""
    return Band(
        *(
            type(line)(line.slope[:, None], line.intercept[:, None])
            for line in (band.below, band.above)
        )
    )


def _inner(rows: Tensor, x: Tensor) -> Tensor:
    """<row, x>: rows (B, R, ...), x (B or 1, R or 1, ...) -> (B, R)."""
    a, b = rows.flatten(2), x.flatten(2)
    if b.shape[1] == 1:
        return (a @ b.transpose(1, 2)).squeeze(2)
    return (a * b).sum(2)
