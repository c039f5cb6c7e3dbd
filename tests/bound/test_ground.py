"""The ground of a set: narrowed to where pixels move, it says what whole images would."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from tests.flow.test_busy import spot
from warpcert import DeformedImage, InputSet, Network, Threat, warp
from warpcert.bound import Reduced, SetGround, reduce
from warpcert.bound.layers import bound_layers
from warpcert.core.inputset import Rectangle
from warpcert.flow import Region


class Whole(DeformedImage):
    """Never narrowed."""

    def narrow(self) -> tuple[InputSet, Rectangle | None]:
        return self, None


def reduced_on(inputs: DeformedImage) -> Reduced:
    """A small network on a set, reduced."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(189, 3))
    network = Network.from_module(module.eval(), (2, 9, 11)).to(dtype=torch.float64)
    rows = torch.eye(3, dtype=torch.float64)[None]
    return reduce(bound_layers(network, inputs, []), rows)


def members(threat: Threat, count: int) -> Tensor:
    """Bent images (n, C, H, W)."""
    generator = torch.Generator().manual_seed(1)
    fields = threat.sample((9, 11), count, generator=generator, dtype=torch.float64)
    return warp(spot(8).expand(count, -1, -1, -1), fields)


@pytest.mark.parametrize("delta", [0.5, 1.5])
@pytest.mark.parametrize("gamma", [0.01, 0.1])
def test_narrow_and_whole_say_the_same(delta: float, gamma: float) -> None:
    """Below all members, near each other, and the points are as far as the relaxation goes."""
    threat = Threat("inf", delta, gamma)
    grounds = {}
    for kind in (DeformedImage, Whole):
        inputs = kind(spot(8), threat)
        reduced = reduced_on(inputs)
        grounds[kind] = SetGround(reduced, inputs, 4)
    shape = (5, len(reduced.pixels))
    rows = torch.randn(shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    met = (members(threat, 300).flatten(1)[:, reduced.pixels] @ rows.T).amin(0)
    narrow, wide = (ground.prove(rows, None, 100) for ground in grounds.values())
    assert (narrow.bound <= met + 1e-9).all()
    assert narrow.duals is not None and wide.duals is not None
    assert narrow.duals[0, 0, 0].numel() < wide.duals[0, 0, 0].numel() == 99
    torch.testing.assert_close(narrow.bound, wide.bound, rtol=0.02, atol=1e-3)
    quick, slow = (ground.search(rows.float(), None, 60) for ground in grounds.values())
    torch.testing.assert_close(quick.bound, slow.bound, rtol=0.02, atol=2e-3)
    assert quick.point.shape == slow.point.shape == shape
    assert (quick.point >= reduced.low - 1e-6).all()
    assert (quick.point <= reduced.high + 1e-6).all()


def test_members_are_whole_fields_of_the_threat() -> None:
    threat = Threat("inf", 0.5, 0.1)
    inputs = DeformedImage(spot(8), threat)
    ground = SetGround(reduced_on(inputs), inputs, 4)
    rows = torch.ones(3, len(ground.reduced.pixels))
    fields = ground.members(torch.zeros_like(rows), rows)
    assert fields.shape == (3, 9, 11, 2)
    assert threat.contains(inputs.project(fields)).all()


def test_pixels_elsewhere_are_asked_as_whole_images() -> None:
    """What moves outside of the rectangle, be it by rounding, must not be dropped."""
    lower = torch.full((1, 1, 9, 11, 2), -0.5, dtype=torch.float64)
    inputs = DeformedImage(
        spot(8), Threat("inf", 0.5, 0.1), region=Region(math.inf, 0.5, lower, -lower)
    )
    reduced = reduced_on(inputs)
    more = Reduced(
        reduced.shape,
        reduced.blocks,
        reduced.margins,
        torch.cat([reduced.pixels, torch.tensor([0])]),
        torch.cat([reduced.low, reduced.low[:1]]),
        torch.cat([reduced.high, reduced.high[:1]]),
        reduced.lower,
        reduced.upper,
    )
    rows = torch.zeros(1, len(more.pixels), dtype=torch.float64)
    rows[0, -1] = 1.0
    bound = SetGround(more, inputs, 4).prove(rows, None, 0).bound
    torch.testing.assert_close(bound, torch.tensor([0.25], dtype=torch.float64), rtol=0, atol=1e-9)
