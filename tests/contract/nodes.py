"""What every Affine and every Activation promises.

A new node's test is a class that inherits one of these and says, in the fixture `case`, how the
node is made and what it should compute; see `tests/net/test_affine.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import pytest
import torch
from torch import Tensor

from warpcert.net import Activation, Affine, Line

DOUBLE = torch.float64
CLOSE = 1e-10
"""Relative error allowed to sums of a few hundred terms in float64."""


@dataclass(frozen=True)
class AffineCase:
    """A node in float64, and another way to compute it (usually torch's own function)."""

    node: Affine
    reference: Callable[..., Tensor]

    def randoms(self, batch: int = 3) -> list[Tensor]:
        return [torch.randn(batch, *shape, dtype=DOUBLE) for shape in self.node.inputs]


def dense(node: Affine) -> list[Tensor]:
    """W as matrices (outputs, inputs), one for each input, made of the images of basis vectors."""
    origin = node(*(torch.zeros(1, *shape, dtype=DOUBLE) for shape in node.inputs))
    matrices = []
    for place, shape in enumerate(node.inputs):
        size = math.prod(shape)
        basis = [torch.zeros(size, *other, dtype=DOUBLE) for other in node.inputs]
        basis[place] = torch.eye(size, dtype=DOUBLE).reshape(size, *shape)
        matrices.append((node(*basis) - origin).reshape(size, -1).T)
    return matrices


def apply(matrices: list[Tensor], inputs: list[Tensor]) -> Tensor:
    parts = [x.flatten(1) @ w.T for w, x in zip(matrices, inputs, strict=True)]
    return torch.stack(parts).sum(0)


def assert_close(one: Tensor, other: Tensor, close: float = CLOSE) -> None:
    assert one.shape == other.shape
    assert float((one - other).abs().max()) <= close * (1 + float(other.abs().max()))


class AffineContract:
    """The tests; every one asks for the fixture `case`."""

    @pytest.fixture
    def case(self) -> AffineCase:
        raise NotImplementedError("a node's test says how the node is made")

    def test_it_computes_what_it_should(self, case: AffineCase) -> None:
        inputs = case.randoms()
        assert case.node(*inputs).shape[1:] == case.node.shape
        assert_close(case.node(*inputs), case.reference(*inputs))

    def test_offset_is_the_value_at_the_origin(self, case: AffineCase) -> None:
        zeros = [0 * x for x in case.randoms(1)]
        offset = case.node.offset
        value = case.node(*zeros)[0]
        assert_close(value, value * 0 if offset is None else offset.expand(case.node.shape))

    def test_linear(self, case: AffineCase) -> None:
        xs, ys = case.randoms(), case.randoms()
        mixed = [2 * x - 3 * y for x, y in zip(xs, ys, strict=True)]
        node = case.node
        assert_close(node.linear(*mixed), 2 * node.linear(*xs) - 3 * node.linear(*ys))
        assert_close(node.linear(*xs).flatten(1), apply(dense(node), xs))

    def test_spread_is_the_magnitude_of_w_times_the_radii(self, case: AffineCase) -> None:
        radii = [x.abs() for x in case.randoms()]
        spread = case.node.spread(*radii)
        assert spread.shape == (3, *case.node.shape)
        assert_close(spread.flatten(1), apply([w.abs() for w in dense(case.node)], radii))

    def test_adjoint_is_the_transpose(self, case: AffineCase) -> None:
        rows = torch.randn(3, 4, *case.node.shape, dtype=DOUBLE)
        parts = case.node.adjoint(rows)
        assert [part.shape for part in parts] == [(3, 4, *shape) for shape in case.node.inputs]
        for part, w in zip(parts, dense(case.node), strict=True):
            assert_close(part.flatten(2), rows.flatten(2) @ w)

    def test_adjoint_moves_across_the_inner_product(self, case: AffineCase) -> None:
        inputs = case.randoms()
        rows = torch.randn(3, 2, *case.node.shape, dtype=DOUBLE)
        left = (rows * case.node.linear(*inputs)[:, None]).flatten(2).sum(2)
        pairs = zip(case.node.adjoint(rows), inputs, strict=True)
        right = torch.stack([(a * x[:, None]).flatten(2).sum(2) for a, x in pairs]).sum(0)
        assert_close(left, right)

    def test_images_of_a_batch_do_not_meet(self, case: AffineCase) -> None:
        inputs = case.randoms(5)
        one = [x[2:3] for x in inputs]
        assert_close(case.node(*inputs)[2:3], case.node(*one))
        assert_close(case.node.spread(*(x.abs() for x in inputs))[2:3],
                     case.node.spread(*(x.abs() for x in one)))  # fmt: skip
        rows = torch.randn(5, 2, *case.node.shape, dtype=DOUBLE)
        for part, alone in zip(
            case.node.adjoint(rows), case.node.adjoint(rows[2:3, 1:]), strict=True
        ):
            assert_close(part[2:3, 1:], alone)

    def test_fans_bound_the_number_of_terms(self, case: AffineCase) -> None:
        matrices = dense(case.node)
        used = torch.stack([(w != 0).sum(1) for w in matrices]).sum(0)
        assert case.node.fan_in >= int(used.max()) or _is_nested(case.node)
        most = max(int((w != 0).sum(0).max()) for w in matrices)
        assert case.node.fan_out >= most or _is_nested(case.node)

    def test_it_moves_to_float32_and_back(self, case: AffineCase) -> None:
        node = case.node.to(dtype=torch.float32)
        inputs = case.randoms()
        result = node(*(x.float() for x in inputs))
        assert result.dtype == torch.float32
        assert_close(result.double(), case.node(*inputs), 1e-5)


def _is_nested(node: Affine) -> bool:
    """Whether sums are nested, so that rounding grows with the sum of their lengths."""
    return type(node).__name__ == "AveragePool"


@dataclass(frozen=True)
class ActivationCase:
    """An activation, and the function itself in arbitrary precision."""

    node: Activation
    exact: Callable[[mpmath.mpf], mpmath.mpf]
    lowest: float = -math.inf
    """Left end of what the function is defined on."""


ENDS = [-300.0, -20.5, -3.25, -1.0, -0.3, -1e-3, 0.0, 1e-7, 0.2, 0.75, 1.0, 2.5, 9.0, 40.0, 1e6]


def intervals(lowest: float) -> tuple[Tensor, Tensor]:
    """Narrow and wide, on either side of 0 and across it, empty of width and next to it."""
    ends = [x for x in ENDS if x > lowest]
    pairs = [(low, high) for low in ends for high in ends if low <= high]
    pairs += [(x, x + abs(x) * 2.0**-40) for x in ends]
    pairs += [(x, math.nextafter(x, math.inf)) for x in ends]
    pairs += [(x, x + w) for x, w in torch.rand(60, 2).mul(torch.tensor([6.0, 3.0])).tolist()]
    if lowest == -math.inf:
        pairs += [(-a, -a + b) for a, b in torch.rand(60, 2).mul(8.0).tolist()]
        pairs += [(-1e-30, 1e-30), (-1e10, 1e-10), (-1e200, -1e190)]
    low, high = torch.tensor(pairs, dtype=DOUBLE).T
    return low, high


class ActivationContract:
    """The tests; every one asks for the fixture `case`."""

    @pytest.fixture
    def case(self) -> ActivationCase:
        raise NotImplementedError("an activation's test says what the function is")

    @pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
    def ends(self, case: ActivationCase, request: pytest.FixtureRequest) -> tuple[Tensor, Tensor]:
        low, high = intervals(case.lowest)
        kept = low.abs() < 1e30 if request.param == torch.float32 else torch.isfinite(low)
        low, high = low[kept].to(request.param), high[kept].to(request.param)
        return low, torch.maximum(low, high)

    def test_it_computes_what_it_should(self, case: ActivationCase) -> None:
        x, _ = intervals(case.lowest)
        x = x[x.abs() < 1e30]
        truth = torch.tensor([float(case.exact(mpmath.mpf(v))) for v in x.tolist()], dtype=DOUBLE)
        assert bool(((case.node(x) - truth).abs() <= 1e-14 * truth.abs() + 1e-300).all())

    def test_band_holds_without_any_tolerance(
        self, case: ActivationCase, ends: tuple[Tensor, Tensor]
    ) -> None:
        band = case.node.band(*ends)
        assert band.below.slope.dtype == band.above.intercept.dtype == ends[0].dtype
        self.check(case, ends, band.below, band.above)

    @pytest.mark.parametrize("slope", [0.0, 0.3, 1.0, -2.5, 7.0])
    def test_band_holds_for_any_slope_below(
        self, case: ActivationCase, ends: tuple[Tensor, Tensor], slope: float
    ) -> None:
        given = torch.full_like(ends[0], slope)
        band = case.node.band(*ends, slope=given)
        assert torch.equal(band.below.slope, given)
        self.check(case, ends, band.below, band.above, points=3)

    def test_image_is_the_range(self, case: ActivationCase, ends: tuple[Tensor, Tensor]) -> None:
        least, most = case.node.image(*ends)
        flat = torch.zeros_like(least)
        self.check(case, ends, Line(flat, least), Line(flat, most))
        samples = torch.stack([case.node(x) for x in grid(*ends, 801)])
        close = 1e-4 * (1 + samples.abs().amax(0))
        reached = samples.amin(0) - least <= close
        assert bool(((samples.amin(0) - least <= close) | (ends[1] - ends[0] > 1)).all()), reached
        assert bool(((most - samples.amax(0) <= close) | (ends[1] - ends[0] > 1)).all())

    def test_image_grows_with_the_interval(self, case: ActivationCase) -> None:
        low, high = intervals(case.lowest)
        middle = low + (high - low) / 2
        inner = case.node.image(middle, high)
        outer = case.node.image(low, high)
        assert bool((outer[0] <= inner[0]).all()) and bool((outer[1] >= inner[1]).all())

    def test_lines_touch(self, case: ActivationCase) -> None:
        """Neither line could be moved towards the function."""
        low, high = intervals(case.lowest)
        kept = (high - low < 20) & (low.abs() < 50)
        low, high = low[kept], high[kept]
        band = case.node.band(low, high)
        xs = grid(low, high, 20001)
        f = case.node(xs)
        for gap in (f - band.below(xs), band.above(xs) - f):
            assert bool((gap.amin(0) <= 1e-6).all())

    def test_infinite_ends_give_constant_lines(self, case: ActivationCase) -> None:
        low = torch.tensor([max(case.lowest, 0.0) + 1.0, 2.0], dtype=DOUBLE)
        high = torch.full_like(low, math.inf)
        band = case.node.band(low, high)
        assert bool((band.below.slope == 0).all()) and bool((band.above.slope == 0).all())
        self.check(case, (low, low + 1e3), band.below, band.above)

    def test_nan_is_nothing_known(self, case: ActivationCase) -> None:
        nan = torch.tensor([math.nan, 1.0, math.nan], dtype=DOUBLE)
        other = torch.tensor([1.0, math.nan, math.nan], dtype=DOUBLE)
        band = case.node.band(nan, other)
        assert bool((band.below.intercept == -math.inf).all())
        assert bool((band.above.intercept == math.inf).all())
        least, most = case.node.image(nan, other)
        assert bool((least == -math.inf).all()) and bool((most == math.inf).all())

    def test_gradients_reach_slopes_and_ends(self, case: ActivationCase) -> None:
        low = torch.tensor([max(case.lowest, -1.0) + 0.5, 0.25], dtype=DOUBLE, requires_grad=True)
        high = torch.tensor([1.5, 2.0], dtype=DOUBLE, requires_grad=True)
        slope = torch.tensor([0.2, 0.1], dtype=DOUBLE, requires_grad=True)
        band = case.node.band(low, high, slope=slope)
        value = band.below(high) + band.above(low) + case.node.image(low, high)[0]
        grads = torch.autograd.grad(value.sum(), (low, high, slope), allow_unused=True)
        assert all(g is None or bool(torch.isfinite(g).all()) for g in grads)
        assert grads[2] is not None and bool((grads[2] != 0).any())

    def check(
        self,
        case: ActivationCase,
        ends: tuple[Tensor, Tensor],
        below: Line,
        above: Line,
        points: int = 7,
    ) -> None:
        """Lines against the function in arbitrary precision: no rounding is forgiven."""
        with mpmath.workdps(60):
            for x in grid(*ends, points):
                columns = (x, below.slope, below.intercept, above.slope, above.intercept)
                for v, s, t, s2, t2 in zip(*(c.tolist() for c in columns), strict=True):
                    f = case.exact(mpmath.mpf(v))
                    if t > -math.inf:
                        assert mpmath.mpf(s) * v + t <= f, (v, s, t)
                    if t2 < math.inf:
                        assert mpmath.mpf(s2) * v + t2 >= f, (v, s2, t2)


def grid(low: Tensor, high: Tensor, points: int) -> Tensor:
    """Points of each interval, its ends and 0 (where it is inside) among them."""
    share = torch.linspace(0, 1, points, dtype=low.dtype)[:, None]
    inner = torch.clamp(low + share * (high - low), low, high)
    return torch.cat([inner, torch.clamp(torch.zeros_like(low), low, high)[None]])
