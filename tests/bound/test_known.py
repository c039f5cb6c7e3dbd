"""Known: intervals step by step."""

from __future__ import annotations

import pytest
import torch

from tests.bound.problems import DOUBLE, between_points, layered, problem
from tests.contract.bounder import assert_close
from tests.contract.nodes import dense
from warpcert import Interval, Unsound
from warpcert.bound.known import Known
from warpcert.net import Affine, affine_image


def grown(name: str) -> Known:
    asked = problem(name)
    known = Known(asked.network, [asked.inputs.box])
    while len(known.values) <= len(asked.network):
        known.advance()
    return known


@pytest.mark.parametrize("name", ["relu on box", "normalised on box", "residual on box"])
def test_affine_steps_have_exact_intervals(name: str) -> None:
    """W+ l + W- u + b below, W+ u + W- l + b above, with W as a dense matrix."""
    known = grown(name)
    for number, step in enumerate(known.network.steps, 1):
        if not isinstance(step.node, Affine):
            continue
        given = [known.values[k] for k in step.inputs]
        found, size = affine_image(step.node, given)
        offset = torch.zeros(step.shape, dtype=DOUBLE)
        if step.node.offset is not None:
            offset = step.node.offset.expand(step.shape)
        low = high = offset.flatten()[None]
        terms = low.abs()
        for matrix, x in zip(dense(step.node), given, strict=True):
            up, down = matrix.clamp(min=0).T, matrix.clamp(max=0).T
            lower, upper = x.lower.flatten(1), x.upper.flatten(1)
            low, high = low + lower @ up + upper @ down, high + upper @ up + lower @ down
            terms = terms + torch.maximum(lower.abs(), upper.abs()) @ matrix.abs().T
        assert_close(found.lower.flatten(1), low, 1e-12)
        assert_close(found.upper.flatten(1), high, 1e-12)
        assert_close(size.flatten(1), terms, 1e-12)
        assert bool((found.lower.flatten(1) <= low).all()), f"step {number}"
        assert bool((found.upper.flatten(1) >= high).all()), f"step {number}"


def test_select_takes_some_images() -> None:
    known = grown("relu on box")
    some = known.select(torch.tensor([1, 1]))
    for one, other in zip(some.values, known.values, strict=True):
        assert torch.equal(one.lower, other.lower[[1, 1]])
        assert torch.equal(one.upper, other.upper[[1, 1]])
    for k, band in known.bands.items():
        assert torch.equal(some.bands[k].below.slope, band.below.slope[[1, 1]])
        assert torch.equal(some.bands[k].above.intercept, band.above.intercept[[1, 1]])
    for k, size in known.sizes.items():
        assert torch.equal(some.sizes[k], size[[1, 1]])


def test_intervals_that_contradict_each_other_are_unsound() -> None:
    network = layered(([[1.0, 1.0]], None), ([[1.0]], None))
    known = Known(network, [between_points([0.0, 0.0], [1.0, 1.0]).box])
    for _ in range(2):
        known.advance()
    inside = torch.tensor([[0.5]], dtype=DOUBLE)
    known.tighten(2, inside, inside + 1)
    assert known.values[2].lower.item() == 0.5 and known.values[2].upper.item() == 1.5
    with pytest.raises(Unsound):
        known.tighten(2, inside + 3, inside + 4)


def test_a_value_that_has_been_used_stays() -> None:
    known = grown("relu on box")
    with pytest.raises(ValueError, match="value 0 has been used already"):
        known.replace(0, known.values[0].lower, known.values[0].upper)


def test_an_infinite_interval_is_no_error() -> None:
    network = layered(([[1.0, -1.0]], [1.0]), ([[1.0]], None))
    ends = torch.full((1, 1, 1, 2), torch.inf, dtype=DOUBLE)
    known = Known(network, [Interval(-ends, ends)])
    for _ in network.steps:
        known.advance()
    assert known.values[2].lower.item() == -torch.inf
    assert known.values[2].upper.item() == torch.inf
    assert known.values[-1].upper.item() == torch.inf
