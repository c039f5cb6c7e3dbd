"""Every activation keeps the contract; known bands are as known."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch
from torch import Tensor

from tests.contract.nodes import DOUBLE, ActivationCase, ActivationContract
from warpcert.net import Activation
from warpcert.net.absolute import Abs
from warpcert.net.leaky import LeakyRelu
from warpcert.net.log import Log
from warpcert.net.relu import Relu
from warpcert.net.sigmoid import Sigmoid
from warpcert.net.square import Square
from warpcert.net.tanh import Tanh


def leaky(slope: float) -> ActivationCase:
    return ActivationCase(LeakyRelu(slope), lambda x: x if x > 0 else mpmath.mpf(slope) * x)


CASES = {
    "relu": ActivationCase(Relu(), lambda x: max(x, mpmath.mpf(0))),
    "leaky relu": leaky(0.01),
    "leaky relu, concave": leaky(2.5),
    "leaky relu, falling": leaky(-0.5),
    "sigmoid": ActivationCase(Sigmoid(), lambda x: 1 / (1 + mpmath.exp(-x))),
    "tanh": ActivationCase(Tanh(), mpmath.tanh),
    "square": ActivationCase(Square(), lambda x: x * x),
    "abs": ActivationCase(Abs(), abs),
    "log": ActivationCase(Log(), mpmath.log, lowest=0.0),
}


class TestAll(ActivationContract):
    @pytest.fixture(params=CASES.values(), ids=list(CASES))
    def case(self, request: pytest.FixtureRequest) -> ActivationCase:
        made: ActivationCase = request.param
        return made


def numbers(*values: float) -> Tensor:
    return torch.tensor(values, dtype=DOUBLE)


def test_relu_follows_the_area_rule() -> None:
    low, high = numbers(-1.0, -2.0, -1.0, -3.0, 1.0, 0.0), numbers(2.0, 1.0, 1.0, -1.0, 2.0, 2.0)
    band = Relu().band(low, high)
    assert band.below.slope.tolist() == [1, 0, 0, 0, 1, 1]
    assert band.below.intercept.tolist() == [0] * 6
    torch.testing.assert_close(band.above.slope, numbers(2 / 3, 1 / 3, 1 / 2, 0, 1, 1))
    torch.testing.assert_close(band.above.intercept, numbers(2 / 3, 2 / 3, 1 / 2, 0, 0, 0))


def test_relu_of_known_sign_is_itself_without_rounding() -> None:
    low = torch.linspace(-3, 3, 101, dtype=torch.float32)
    for a, b in ((low[low >= 0], low[low >= 0] + 0.37), (low[low <= -0.5], low[low <= -0.5] + 0.1)):
        band = Relu().band(a, b)
        assert torch.equal(band.below.intercept, 0 * a) and torch.equal(band.above.intercept, 0 * a)
        assert torch.equal(band.below.slope, band.above.slope)


@pytest.mark.parametrize("slope", [0.0, 0.25, 0.5, 1.0])
def test_relu_below_goes_through_the_origin_for_slopes_between_0_and_1(slope: float) -> None:
    low, high = -torch.rand(20), torch.rand(20)
    given = torch.full_like(low, slope, requires_grad=True)
    band = Relu().band(low, high, slope=given)
    assert torch.equal(band.below.intercept, torch.zeros(20))


def test_concave_leaky_relu_has_its_chord_below() -> None:
    band = LeakyRelu(3.0).band(numbers(-1.0), numbers(2.0))
    torch.testing.assert_close(band.below.slope, numbers(5 / 3))
    torch.testing.assert_close(band.below.intercept, numbers(-4 / 3))
    assert band.above.slope.tolist() == [1.0]
    assert band.above.intercept.abs().max() < 1e-12


def test_square_and_abs_are_known() -> None:
    band = Square().band(numbers(-1.0), numbers(3.0))
    torch.testing.assert_close(band.below.intercept, numbers(-1.0))
    torch.testing.assert_close(band.above.intercept, numbers(3.0))
    least, most = Square().image(numbers(-1.0), numbers(3.0))
    assert float(least) == pytest.approx(0, abs=1e-12) and float(most) == pytest.approx(9)
    least, most = Abs().image(numbers(-1.0), numbers(3.0))
    assert float(least) == 0 and float(most) == pytest.approx(3)


@pytest.mark.parametrize("node", [Sigmoid(), Tanh()])
def test_s_shapes_have_tangents_and_chords(node: Activation) -> None:
    """Convex side: chord above; concave side: chord below; across: both lines are tangents."""
    low, high = numbers(-3.0, 1.0), numbers(-1.0, 3.0)
    chord = (node(high) - node(low)) / (high - low)
    band = node.band(low, high)
    torch.testing.assert_close(band.above.slope[0], chord[0])
    torch.testing.assert_close(band.below.slope[1], chord[1])
    band = node.band(numbers(-2.0), numbers(2.0))
    torch.testing.assert_close(band.below.slope, band.above.slope)
    torch.testing.assert_close(band.below(numbers(2.0)), node(numbers(2.0)))
    torch.testing.assert_close(band.above(numbers(-2.0)), node(numbers(-2.0)))


@pytest.mark.parametrize("node", [Sigmoid(), Tanh()])
def test_no_other_line_is_higher_in_the_middle(node: Activation) -> None:
    low = -4 * torch.rand(50, dtype=DOUBLE)
    high = low + 6 * torch.rand(50, dtype=DOUBLE)
    middle = (low + high) / 2
    best = node.band(low, high)
    for share in torch.linspace(0, 1, 41).tolist():
        slope = torch.full_like(
            low, share * float(node.band(numbers(0), numbers(1e-3)).above.slope)
        )
        other = node.band(low, high, slope=slope)
        assert bool((other.below(middle) <= best.below(middle) + 1e-9).all())


@pytest.mark.parametrize("low", [-1.0, -1e-300])
def test_log_of_negative_numbers_is_unknown(low: float) -> None:
    band = Log().band(numbers(low), numbers(2.0))
    assert band.below.intercept.tolist() == [-math.inf]
    assert band.above.intercept.tolist() == [math.inf]


def test_log_at_zero_is_unknown_below() -> None:
    band = Log().band(numbers(0.0), numbers(2.0))
    assert band.below.slope.tolist() == [0.0] and band.below.intercept.tolist() == [-math.inf]
    least, most = Log().image(numbers(0.0), numbers(2.0))
    assert float(least) == -math.inf and float(most) >= math.log(2)


def test_infinite_intervals_keep_what_is_known() -> None:
    low, high = numbers(-math.inf, -math.inf, -1.0), numbers(2.0, math.inf, math.inf)
    band = Relu().band(low, high)
    assert band.below.intercept.tolist() == [0, 0, 0]
    assert band.above.intercept.tolist() == [pytest.approx(2.0), math.inf, math.inf]
    band = Sigmoid().band(low, high)
    assert bool((band.below.intercept[:2] <= 0).all())
    assert bool((band.above.intercept[1:] >= 1).all())
    assert bool((band.above.intercept < 1.0001).all())
