"""Back-substitution: the linear form itself, before anyone minimises it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.bound.problems import DOUBLE, NAMES, Problem, between_points, layered, problem, slack
from tests.contract.bounder import assert_close
from warpcert import Interval
from warpcert.bound.backward import backward, over_intervals
from warpcert.bound.known import Known
from warpcert.net import Hinge

SOME = [name for name in NAMES if name.endswith("on box")] + ["residual on T2 colour"]


def everything(asked: Problem) -> Known:
    known = Known(asked.network, [asked.inputs.box])
    while len(known.values) <= len(asked.network):
        known.advance()
    return known


def at(rows: Tensor, x: Tensor) -> Tensor:
    """<row, x>: rows (B, R, ...), members (n, B, ...) -> (n, B, R)."""
    return torch.einsum("brk,nbk->nbr", rows.flatten(2), x.flatten(2))


@pytest.mark.parametrize("name", SOME)
def test_forms_are_below_every_layer_at_every_member(name: str) -> None:
    asked = problem(name)
    known = everything(asked)
    for value in range(1, len(asked.network) + 1):
        shape = known.values[value].lower.shape
        rows = torch.randn((shape[0], 3, *shape[1:]), dtype=DOUBLE)
        form = backward(known, rows, value)
        truth = at(rows, asked.values[value])
        below = form.constant + at(form.rows, asked.members)
        assert bool((below <= truth + slack(truth)).all()), f"value {value}"
        assert bool((form.stopped <= truth + slack(truth)).all()), f"value {value}"
        bound = over_intervals(known, rows, value)
        assert bool((bound <= truth + slack(truth)).all()), f"value {value}"


@pytest.mark.parametrize("name", ["affine on box", "stable on box", "dead on box"])
def test_where_nothing_is_bent_the_form_is_the_network(name: str) -> None:
    asked = problem(name)
    known = everything(asked)
    for value, interval in enumerate(known.values[1:], 1):
        rows = torch.randn((2, 3, *interval.lower.shape[1:]), dtype=DOUBLE)
        form = backward(known, rows, value, intersect=False)
        opened = any(
            bool(((x.lower < 0) & (x.upper > 0)).any())
            for k, x in enumerate(known.values[:value])
            if any(k in known.network.steps[a - 1].inputs for a in known.network.activations)
        )
        if opened:
            continue
        assert_close(
            form.constant + at(form.rows, asked.members), at(rows, asked.values[value]), 1e-10
        )


@pytest.mark.parametrize("name", ["relu on box", "abs on box", "leaky on box", "residual on box"])
@pytest.mark.parametrize("slope", [-1.5, 0.0, 0.3, 1.0, 2.0])
def test_bands_of_one_row_do_not_touch_another(name: str, slope: float) -> None:
    """Each row has slopes of its own below; the form is sound for all, even for bad ones."""
    asked = problem(name)
    known = everything(asked)
    bands = {}
    for k in asked.network.activations:
        step = asked.network.steps[k - 1]
        given = known.values[step.inputs[0]]
        assert isinstance(step.node, Hinge)
        ends = [x[:, None].expand(-1, 4, *x.shape[1:]) for x in (given.lower, given.upper)]
        chosen = torch.full_like(ends[0], slope)
        chosen[:, 0] = known.bands[k].below.slope
        bands[k] = step.node.band(ends[0], ends[1], chosen)
    value = len(asked.network)
    form = backward(known, asked.rows, value, bands)
    plain = backward(known, asked.rows, value)
    assert_close(form.rows[:, 0], plain.rows[:, 0], 1e-12)
    assert_close(form.constant[:, 0], plain.constant[:, 0], 1e-12)
    below = form.constant + at(form.rows, asked.members)
    assert bool((below <= asked.margins + slack(asked.margins)).all())


def test_a_form_by_hand() -> None:
    """relu(x + 0.5) on [-1, 1]: slope 1 below, slope 0.75 and 0.375 above."""
    network = layered(([[1.0]], [0.5]), ([[1.0]], [0.25]))
    asked = Problem(network, between_points([-1.0], [1.0]), torch.ones(1, 1, 1), torch.zeros(0))
    known = everything(asked)
    rows = torch.tensor([[[2.0], [-2.0]]], dtype=DOUBLE)
    form = backward(known, rows, len(network), intersect=False)
    wanted = torch.tensor([[2.0, -1.5]], dtype=DOUBLE)
    assert_close(form.rows.reshape(1, 2), wanted, 1e-14)
    assert_close(form.constant, torch.tensor([[1.5, -2.0]], dtype=DOUBLE), 1e-13)
    assert bool((form.stopped == -torch.inf).all())
    stopped = backward(known, rows, len(network)).stopped
    assert_close(stopped, torch.tensor([[0.5, -3.5]], dtype=DOUBLE), 1e-13)
    assert_close(over_intervals(known, rows, len(network)), stopped, 1e-13)


def test_nothing_known_is_nothing_proved() -> None:
    network = layered(([[1.0, -1.0]], [1.0]), ([[1.0], [-1.0]], None))
    ends = torch.full((1, 1, 1, 2), torch.inf, dtype=DOUBLE)
    known = Known(network, [Interval(-ends, ends)])
    for _ in network.steps:
        known.advance()
    rows = torch.tensor([[[0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]], dtype=DOUBLE)
    form = backward(known, rows, len(network))
    bound = form.bound(torch.full((1, 3), -torch.inf, dtype=DOUBLE))
    assert bound[0, 0].item() == -torch.inf
    assert not bool(torch.isnan(bound).any()) and bool((bound <= 0).all())


@pytest.mark.parametrize("minimum", [torch.nan, torch.inf, -torch.inf])
def test_a_minimum_that_is_no_number_proves_nothing(minimum: float) -> None:
    network = layered(([[1.0]], [0.5]))
    asked = Problem(network, between_points([-1.0], [1.0]), torch.ones(1, 1, 1), torch.zeros(0))
    form = backward(everything(asked), torch.ones((1, 1, 1), dtype=DOUBLE), len(network))
    given = torch.full((1, 1), minimum, dtype=DOUBLE)
    assert form.bound(given).item() == -torch.inf
