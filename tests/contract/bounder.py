"""What every Bounder promises.

A new bounder's test is a class that inherits this one and says, in the fixture `bounder`, how it is
made, and in the class's attributes what may be expected of it; see `tests/bound/test_contract.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from tests.bound.problems import (
    DOUBLE,
    NAMES,
    Problem,
    between_points,
    layered,
    problem,
    slack,
)
from warpcert import Bounds, Box, InputSet, Interval, Network
from warpcert.bound import Bounder
from warpcert.core.inputset import Minimum
from warpcert.core.polytope import Polytope
from warpcert.net.linear import Linear

FEW = ["relu on box", "residual on T2 colour", "abs on smooth", "concat on box"]
"""Problems for promises that do not depend on the kind of network."""

SMALL = "leaky on T1 colour"
"""One that can be worked on row by row."""

EXACT = 1e-9
"""How far an exact answer may be off, relative to its size: rounding that has been taken off."""

SEARCHED = 5e-3
"""How far answers may differ where the input set searches for duals: float32 noise goes with it."""


@cache
def solved(bounder: Bounder, name: str) -> Bounds:
    """The answer to a problem, found once."""
    asked = problem(name)
    return bounder(asked.network, asked.inputs, asked.rows)


class BounderContract:
    """The tests; every one asks for the fixture `bounder`."""

    substitutes: ClassVar[bool] = True
    """Whether linear networks are bounded by asking the input set itself, not its box."""
    intersects: ClassVar[bool] = True
    """Whether bounds are never worse than those of intervals."""
    repeats: ClassVar[float] = EXACT
    """How far answers to one question may differ when it is put in another way."""

    @pytest.fixture
    def bounder(self) -> Bounder:
        raise NotImplementedError("a bounder's test says how the bounder is made")

    # Soundness

    @pytest.mark.parametrize("name", NAMES)
    def test_intervals_hold_what_members_make_of_every_layer(
        self, bounder: Bounder, name: str
    ) -> None:
        asked, found = problem(name), solved(bounder, name)
        network = asked.network
        assert set(found.layers) == {network.steps[k - 1].inputs[0] for k in network.activations}
        for k, interval in found.layers.items():
            assert interval.lower.dtype == DOUBLE
            values, noise = asked.values[k], slack(asked.values[k])
            assert bool((interval.lower <= values + noise).all()), f"value {k}"
            assert bool((interval.upper >= values - noise).all()), f"value {k}"

    @pytest.mark.parametrize("name", NAMES)
    def test_margins_are_below_those_of_members(self, bounder: Bounder, name: str) -> None:
        found = solved(bounder, name).margins
        assert found.shape == problem(name).rows.shape[:2] and found.dtype == DOUBLE
        assert bool(torch.isfinite(found).all())  # something is known of ordinary networks
        assert_below(found, problem(name))

    # Exactness

    @pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("affine")])
    def test_margins_of_an_affine_network_are_the_exact_minimum(
        self, bounder: Bounder, name: str
    ) -> None:
        asked = problem(name)
        inputs = asked.inputs if self.substitutes else Box(asked.inputs.box)
        self.assert_minimum(solved(bounder, name).margins, linear_minimum(asked, inputs), inputs)

    @pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("stable")])
    def test_margins_are_exact_where_every_sign_is_known(self, bounder: Bounder, name: str) -> None:
        asked, found = problem(name), solved(bounder, name)
        exact = linear_minimum(asked, asked.inputs)
        if self.substitutes and all(
            bool(((x.lower >= 0) | (x.upper <= 0)).all()) for x in found.layers.values()
        ):
            self.assert_minimum(found.margins, exact, asked.inputs)

    @pytest.mark.parametrize("name", ["dead on box", "constant on box"])
    def test_scores_that_never_change_are_known(self, bounder: Bounder, name: str) -> None:
        asked = problem(name)
        assert_close(solved(bounder, name).margins, asked.margins[0])

    @pytest.mark.parametrize(
        ("lower", "upper"), [(-1.0, 3.0), (-3.0, 1.0), (-2.0, 2.0), (1.0, 2.0), (-2.0, -1.0)]
    )
    def test_one_neuron(self, bounder: Bounder, lower: float, upper: float) -> None:
        """x in [lower, upper], made of two pixels; the scores are relu(x), -2 relu(x) and 0."""
        network = layered(([[2.0, -1.0]], [lower]), ([[1.0], [-2.0], [0.0]], None))
        width = upper - lower
        inputs = between_points([0.0, 0.25], [width / 4, 0.25 + width / 2])
        network = shift_bias(network, 0.25 + width / 2)
        rows = torch.tensor([[[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]], dtype=DOUBLE)
        found = bounder(network, inputs, rows)
        least = max(lower, 0.0)
        if not self.intersects and lower < 0 < upper:
            least = lower if upper > -lower else 0.0  # DeepPoly's line below
        wanted = torch.tensor([[least, -2 * max(upper, 0.0)]], dtype=DOUBLE)
        assert_close(found.margins, wanted)
        (layer,) = found.layers.values()
        assert_close(layer.lower, torch.tensor([[lower]], dtype=DOUBLE))
        assert_close(layer.upper, torch.tensor([[upper]], dtype=DOUBLE))

    # Independence

    @pytest.mark.parametrize("name", FEW)
    def test_images_are_bounded_one_by_one(self, bounder: Bounder, name: str) -> None:
        asked, together = problem(name), solved(bounder, name)
        for k in range(len(asked.rows)):
            one = torch.tensor([k])
            alone = bounder(asked.network, asked.inputs.select(one), asked.rows[one])
            self.assert_same(alone, together.select(one), asked.inputs)

    @pytest.mark.parametrize("name", FEW)
    def test_images_in_another_order(self, bounder: Bounder, name: str) -> None:
        asked, straight = problem(name), solved(bounder, name)
        order = torch.tensor([1, 0, 1])
        turned = bounder(asked.network, asked.inputs.select(order), asked.rows[order])
        self.assert_same(turned, straight.select(order), asked.inputs)

    @pytest.mark.parametrize("name", FEW)
    def test_rows_in_another_order(self, bounder: Bounder, name: str) -> None:
        asked, straight = problem(name), solved(bounder, name)
        order = torch.tensor([3, 0, 2, 2, 1])
        turned = bounder(asked.network, asked.inputs, asked.rows[:, order])
        self.assert_repeats(turned.margins, straight.margins[:, order], asked.inputs)

    def test_no_row_but_the_image_of_a_row(self, bounder: Bounder) -> None:
        """Twice a row has twice the bound, and a row of zeros has the bound 0."""
        asked, found = problem("relu on box"), solved(bounder, "relu on box")
        rows = torch.cat([2 * asked.rows, 0 * asked.rows], dim=1)
        margins = bounder(asked.network, asked.inputs, rows).margins
        self.assert_repeats(margins[:, :4], 2 * found.margins, asked.inputs)
        assert bool((margins[:, 4:] <= 0).all()) and bool((margins[:, 4:] > -1e-300).all())

    def test_a_float32_network_is_bounded_for_its_own_numbers(self, bounder: Bounder) -> None:
        asked = problem("relu on box")
        small = asked.network.to(dtype=torch.float32)
        exact = small.to(dtype=DOUBLE)
        found = bounder(small, asked.inputs, asked.rows.float())
        assert found.margins.dtype == DOUBLE
        rows = asked.rows.float().to(DOUBLE)
        assert_below(found.margins, replace(asked, network=exact, rows=rows))
        again = bounder(exact, asked.inputs, rows)
        assert torch.equal(found.margins, again.margins)

    @pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
    @pytest.mark.parametrize("name", [SMALL, "abs on smooth"])
    def test_gradients_may_be_switched_off(
        self, bounder: Bounder, name: str, off: Callable[[], AbstractContextManager[None]]
    ) -> None:
        asked = problem(name)
        with off():
            found = bounder(asked.network, asked.inputs, asked.rows)
        self.assert_same(found, solved(bounder, name), asked.inputs)

    # Memory

    @pytest.mark.parametrize("name", [SMALL, "concat on box"])
    def test_small_parts_give_the_same_bounds(
        self, bounder: Bounder, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("warpcert.core.memory.free_bytes", lambda device: 1)
        asked = problem(name)
        found = bounder(asked.network, asked.inputs, asked.rows)
        self.assert_same(found, solved(bounder, name), asked.inputs)

    def test_work_that_runs_out_of_memory_is_halved(self, bounder: Bounder) -> None:
        asked = problem(SMALL)
        scarce = Scarce(asked.inputs, 3, torch.OutOfMemoryError("CUDA out of memory"))
        found = bounder(asked.network, scarce, asked.rows)
        self.assert_same(found, solved(bounder, SMALL), asked.inputs)

    def test_a_single_row_that_does_not_fit_is_an_error(self, bounder: Bounder) -> None:
        if self.substitutes:
            asked = problem(SMALL)
            scarce = Scarce(asked.inputs, 0, torch.OutOfMemoryError())
            with pytest.raises(torch.OutOfMemoryError):
                bounder(asked.network, scarce, asked.rows)

    def test_other_errors_are_not_caught(self, bounder: Bounder) -> None:
        if self.substitutes:
            asked = problem(SMALL)
            scarce = Scarce(asked.inputs, 3, RuntimeError("a broken kernel"))
            with pytest.raises(RuntimeError, match="a broken kernel"):
                bounder(asked.network, scarce, asked.rows)

    # Starts

    @pytest.mark.parametrize("name", FEW)
    def test_a_warm_start_is_never_worsened(self, bounder: Bounder, name: str) -> None:
        """Not even one better than all that the bounder can find: the members' own extremes."""
        if not self.intersects:
            return  # it takes nothing from others
        asked, cold = problem(name), solved(bounder, name)
        values = asked.values
        layers = {k: Interval(values[k].amin(0), values[k].amax(0)) for k in cold.layers}
        margins = asked.margins.amin(0) - 1e-6
        start = Bounds(layers, margins, cold.slopes, cold.duals)
        warm = bounder(asked.network, asked.inputs, asked.rows, start)
        assert_no_worse(warm, start)

    @pytest.mark.parametrize("name", FEW)
    def test_bounds_of_a_larger_set_are_a_start(self, bounder: Bounder, name: str) -> None:
        asked = problem(name)
        box = asked.inputs.box
        larger = Box(Interval(box.lower - 0.05, box.upper + 0.05))
        start = bounder(asked.network, larger, asked.rows)
        kept = [x.clone() for x in contents(start)]
        found = bounder(asked.network, asked.inputs, asked.rows, start)
        assert all(torch.equal(x, y) for x, y in zip(contents(start), kept, strict=True))
        assert_below(found.margins, asked)
        if self.intersects:
            assert_no_worse(found, start)
        cold = solved(bounder, name)
        for k, interval in cold.layers.items():  # as good as without the start
            close = SEARCHED if asked.inputs.searches else self.repeats
            noise = close * (1 + interval.upper.abs().max() + interval.lower.abs().max())
            assert bool((found.layers[k].lower >= interval.lower - noise).all()), f"value {k}"
            assert bool((found.layers[k].upper <= interval.upper + noise).all()), f"value {k}"

    @pytest.mark.parametrize("name", [SMALL, "abs on smooth"])
    @pytest.mark.parametrize("nonsense", [math.nan, math.inf, -1e30])
    def test_slopes_and_duals_are_never_trusted(
        self, bounder: Bounder, name: str, nonsense: float
    ) -> None:
        asked, found = problem(name), solved(bounder, name)
        spoilt = Bounds(
            found.layers,
            torch.full_like(found.margins, -torch.inf),
            {k: torch.full_like(x, nonsense) for k, x in found.slopes.items()},
            None if found.duals is None else torch.full_like(found.duals, nonsense),
        )
        again = bounder(asked.network, asked.inputs, asked.rows, spoilt)
        assert not bool(torch.isnan(again.margins).any())
        assert_below(again.margins, asked)

    def test_duals_of_another_shape_prove_nothing(self, bounder: Bounder) -> None:
        name = "abs on smooth"
        asked, found = problem(name), solved(bounder, name)
        wrong = Bounds(found.layers, found.margins - 1, found.slopes, found.margins[..., None])
        try:
            again = bounder(asked.network, asked.inputs, asked.rows, wrong)
        except (ValueError, RuntimeError):  # refused
            return
        assert_below(again.margins, asked)

    def test_a_margin_that_is_no_number_stays_unproved(self, bounder: Bounder) -> None:
        asked, found = problem("relu on box"), solved(bounder, "relu on box")
        warm = Bounds(found.layers, found.margins * math.nan, found.slopes, found.duals)
        again = bounder(asked.network, asked.inputs, asked.rows, warm).margins
        truth = asked.margins.amin(0)
        assert not bool((again > truth + slack(truth)).any())

    # How answers are compared

    def assert_same(self, one: Bounds, other: Bounds, inputs: InputSet) -> None:
        self.assert_repeats(one.margins, other.margins, inputs)
        assert set(one.layers) == set(other.layers)
        for k, interval in one.layers.items():
            self.assert_repeats(interval.lower, other.layers[k].lower, inputs)
            self.assert_repeats(interval.upper, other.layers[k].upper, inputs)

    def assert_repeats(self, one: Tensor, other: Tensor, inputs: InputSet) -> None:
        assert_close(one, other, SEARCHED if inputs.searches else self.repeats)

    def assert_minimum(self, found: Tensor, exact: Tensor, inputs: InputSet) -> None:
        """Equal, unless the set itself only searches for its minimum."""
        assert bool((found >= exact - EXACT * (1 + exact.abs().max())).all())
        assert_close(found, exact, SEARCHED if inputs.searches else EXACT)


@dataclass(frozen=True, eq=False)
class Scarce(InputSet):
    """A set that cannot answer for more than ``most`` rows at once."""

    wrapped: InputSet
    most: int
    error: Exception

    @property
    def box(self) -> Interval:
        return self.wrapped.box

    @property
    def boxed(self) -> bool:
        return False

    @property
    def searches(self) -> bool:
        return self.wrapped.searches

    def minimise(
        self, rows: Tensor, warm: Tensor | None = None, steps: int | None = None
    ) -> Minimum:
        if rows.shape[0] * rows.shape[1] > self.most:
            raise self.error
        return self.wrapped.minimise(rows, warm, steps)

    def select(self, images: Tensor) -> Scarce:
        return replace(self, wrapped=self.wrapped.select(images))

    def realise(self, v: Tensor) -> Tensor:
        return self.wrapped.realise(v)

    def project(self, v: Tensor) -> Tensor:
        return self.wrapped.project(v)

    def contains(self, v: Tensor) -> Tensor:
        return self.wrapped.contains(v)

    def sample(self, n: int, generator: torch.Generator | None = None) -> Tensor:
        return self.wrapped.sample(n, generator)

    def steepest(self, slopes: Tensor) -> Tensor:
        return self.wrapped.steepest(slopes)

    def minimiser(self, rows: Tensor, steps: int | None = None) -> Tensor:
        return self.wrapped.minimiser(rows, steps)

    def polytope(self) -> list[Polytope]:
        return self.wrapped.polytope()


def assert_below(margins: Tensor, asked: Problem) -> None:
    assert bool((margins <= asked.margins.amin(0) + slack(asked.margins)).all())


def assert_no_worse(found: Bounds, start: Bounds) -> None:
    assert bool((found.margins >= start.margins).all())
    for k, interval in start.layers.items():
        assert bool((found.layers[k].lower >= interval.lower).all()), f"value {k}"
        assert bool((found.layers[k].upper <= interval.upper).all()), f"value {k}"


def assert_close(one: Tensor, other: Tensor, close: float = EXACT) -> None:
    assert one.shape == other.shape
    assert float((one - other).abs().max()) <= close * (1 + float(other.abs().max()))


def linear_minimum(asked: Problem, inputs: InputSet) -> Tensor:
    """What the input set answers for rows of a network that is linear on it."""
    centre = ((inputs.box.lower + inputs.box.upper) / 2).requires_grad_()
    margins = (asked.rows @ asked.network(centre)[..., None]).squeeze(-1)
    slopes = [torch.autograd.grad(m.sum(), centre, retain_graph=True)[0] for m in margins.unbind(1)]
    rows = torch.stack(slopes, dim=1)
    constant = margins - (rows * centre[:, None]).sum((2, 3, 4))
    return (constant + inputs.minimise(rows).bound).detach()


def shift_bias(network: Network, by: float) -> Network:
    """The network with a constant added to its first matrix's bias."""
    flatten, first, *rest = network.steps
    assert isinstance(first.node, Linear) and first.node.bias is not None
    node = replace(first.node, bias=first.node.bias + by)
    return replace(network, steps=(flatten, replace(first, node=node), *rest))


def contents(bounds: Bounds) -> list[Tensor]:
    ends = [end for x in bounds.layers.values() for end in (x.lower, x.upper)]
    return [bounds.margins, *ends, *bounds.slopes.values()]
