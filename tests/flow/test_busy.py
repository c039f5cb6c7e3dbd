"""busy, and images narrowed to it: nothing of what fields can do is lost or invented."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import warpcert as wc
from warpcert.flow import DeformedImage, Region, Threat
from warpcert.flow.busy import busy


def spot(seed: int, height: int = 9, width: int = 11) -> Tensor:
    """An image (1, 2, H, W) of a grey that is disturbed in one place, not in the middle."""
    generator = torch.Generator().manual_seed(seed)
    image = torch.full((1, 2, height, width), 0.25, dtype=torch.float64)
    image[0, :, 3:6, 4:6] = torch.rand((2, 3, 2), generator=generator, dtype=torch.float64)
    return image


def test_a_rectangle_holds_what_differs_and_what_can_see_it() -> None:
    """Known answers: the spot, one pixel around it, and as many more as a field reaches."""
    assert busy(spot(0), 0.5) == (2, 3, 5, 4)
    assert busy(spot(0), 1.0) == (2, 3, 5, 4)
    assert busy(spot(0), 1.5) == (1, 2, 7, 6)
    assert busy(spot(0), 20.0) == (0, 0, 9, 11)
    assert busy(torch.full((1, 1, 4, 5), 0.5), 0.5) == (0, 0, 4, 5)  # nothing differs
    assert busy(torch.cat([spot(0), spot(0).flip(2, 3)]), 0.5) == (2, 3, 5, 5)


def test_a_single_corner_is_seen() -> None:
    """A pixel differs from its diagonal neighbours as well."""
    image = torch.zeros(1, 1, 6, 6)
    image[0, 0, 2, 3] = 1.0
    assert busy(image, 0.5) == (1, 2, 3, 3)


@pytest.mark.parametrize("delta", [0.5, 1.0, 1.5, 2.5])
def test_outside_nothing_changes_and_inside_all_is_alike(delta: float) -> None:
    """Any field, also one that is no member: bent whole and bent narrowed, pixel by pixel."""
    image, threat = spot(1), Threat("inf", delta, 0.3)
    some, part = DeformedImage(image, threat).narrow()
    assert part is not None
    rows = slice(part.top, part.top + part.height)
    columns = slice(part.left, part.left + part.width)
    generator = torch.Generator().manual_seed(2)
    for _ in range(50):
        field = (
            2 * torch.rand((1, 9, 11, 2), generator=generator, dtype=torch.float64) - 1
        ) * delta
        whole = wc.warp(image, field)
        inside = some.realise(field[:, rows, columns].contiguous())
        torch.testing.assert_close(whole[:, :, rows, columns], inside, rtol=0, atol=1e-12)
        whole[:, :, rows, columns] = 0.25
        torch.testing.assert_close(whole, torch.full_like(whole, 0.25), rtol=0, atol=1e-12)


@pytest.mark.parametrize("norm", [1, 2, math.inf])
@pytest.mark.parametrize("gamma", [0.0, 0.1, math.inf])
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_the_minimum_is_that_of_the_whole(norm: float, gamma: float, border: str) -> None:
    """With free pixels the same number; else both are below all members, and near each other."""
    image, threat = spot(3), Threat(norm, 0.7, gamma, border)  # type: ignore[arg-type]
    every = DeformedImage(image, threat, effort="thorough")
    some, part = every.narrow()
    assert part is not None
    at = (slice(part.top, part.top + part.height), slice(part.left, part.left + part.width))
    generator = torch.Generator().manual_seed(4)
    rows = torch.randn((1, 6, 2, part.height, part.width), generator=generator, dtype=torch.float64)
    whole = torch.zeros((1, 6, 2, 9, 11), dtype=torch.float64)
    whole[..., at[0], at[1]] = rows
    narrow, wide = some.minimise(rows).bound, every.minimise(whole).bound
    if gamma == math.inf:
        torch.testing.assert_close(narrow, wide, rtol=0, atol=1e-9)
    fields = threat.sample((9, 11), 200, generator=generator, dtype=torch.float64)
    bent = wc.warp(image.expand(200, -1, -1, -1), fields)
    met = torch.einsum("brchw,nchw->brn", whole, bent).amin(2)
    assert (narrow <= met + 1e-9).all()
    free = replace(every, threat=replace(threat, gamma=math.inf)).minimise(whole).bound
    assert (narrow >= free - 1e-9).all()
    assert (narrow - wide).abs().max() <= 0.1 * (met - free).abs().max() + 1e-6


def test_a_region_is_cut_along() -> None:
    """A cell of the field keeps its boxes; without gamma the bound is exact, so it must agree."""
    image, threat = spot(5), Threat("inf", 0.5)
    generator = torch.Generator().manual_seed(6)
    ends = torch.rand((2, 1, 1, 9, 11, 2), generator=generator, dtype=torch.float64) - 0.5
    region = Region(math.inf, 0.5, ends.amin(0), ends.amax(0))
    every = DeformedImage(image, threat, region=region)
    some, part = every.narrow()
    assert part is not None
    rows = torch.randn((1, 8, 2, part.height, part.width), generator=generator, dtype=torch.float64)
    whole = torch.zeros((1, 8, 2, 9, 11), dtype=torch.float64)
    whole[..., part.top : part.top + part.height, part.left : part.left + part.width] = rows
    torch.testing.assert_close(
        some.minimise(rows).bound, every.minimise(whole).bound, rtol=0, atol=1e-9
    )


def test_what_fills_the_image_stays_as_it_is() -> None:
    """Noise moves everywhere; and what is not larger than a displacement is not worth it."""
    noise = torch.rand((1, 1, 5, 5), generator=torch.Generator().manual_seed(7))
    for image in (noise, torch.zeros(1, 1, 5, 5)):
        every = DeformedImage(image, Threat("inf", 0.5, 0.1))
        assert every.narrow() == (every, None)
