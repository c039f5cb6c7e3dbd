"""dual_bound: what any duals prove, computed as the formula says and rounded down."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
import torch.nn.functional as nn
from torch import Tensor

from tests.flow.agree import NORMS, Border
from tests.flow.pictures import draw, picture
from tests.flow.problems import at_points, square
from warpcert import DeformedImage, Threat, warp
from warpcert.flow.differences import adjoint, edges
from warpcert.flow.dual import dual_bound
from warpcert.flow.free import free_bound
from warpcert.flow.translation import translation_bound

DOUBLE = torch.float64


def random_duals(shape: tuple[int, ...], seed: int = 0) -> Tensor:
    duals = torch.randn((*shape[:2], 2, 2, *shape[-2:]), dtype=DOUBLE, generator=draw(seed))
    return duals * (torch.rand(duals.shape, generator=draw(seed + 1)) < 0.7)


def by_formula(image: Tensor, row: Tensor, delta: float, gamma: float, duals: Tensor) -> float:
    """sum_i min_k [g_ik + sum over edges of mu . (D p)_e] - gamma |mu|_1, pixel by pixel."""
    points = square(delta).numpy()
    values = at_points(image, row, square(delta)).numpy()
    mu = duals.numpy()
    height, width = row.shape[-2:]
    total, length = 0.0, 0.0
    for i in range(height):
        for j in range(width):
            slope = np.zeros(2)
            if j + 1 < width:
                slope -= mu[0, :, i, j]
                length += float(np.abs(mu[0, :, i, j]).sum())
            if i + 1 < height:
                slope -= mu[1, :, i, j]
                length += float(np.abs(mu[1, :, i, j]).sum())
            if j > 0:
                slope += mu[0, :, i, j - 1]
            if i > 0:
                slope += mu[1, :, i - 1, j]
            total += float((values[:, i, j] + points @ slope).min())
    return total - gamma * length


@pytest.mark.parametrize("delta", [0.4, 1.0, 1.6])
@pytest.mark.parametrize("channels", [1, 3])
def test_the_bound_is_the_formula(delta: float, channels: int) -> None:
    images = picture("quantised", channels, 4, 5)
    rows = torch.randn((1, 2, channels, 4, 5), dtype=DOUBLE, generator=draw(1))
    duals = random_duals((1, 2, 4, 5))
    threat = Threat("inf", delta, 0.3)
    bounds = dual_bound(images, threat.region((4, 5)), rows, 0.3, duals)
    for r in range(2):
        wanted = by_formula(images[0], rows[0, r], delta, 0.3, duals[0, r])
        assert wanted - 1e-10 <= bounds[0, r].item() <= wanted


def test_the_adjoint_is_that_of_differences() -> None:
    field = torch.randn((3, 2, 4, 5), dtype=DOUBLE, generator=draw(0))
    duals = random_duals((3, 1, 4, 5))[:, 0]
    right, down = edges(duals)
    along = (right * field.diff(dim=-1)).sum() + (down * field.diff(dim=-2)).sum()
    torch.testing.assert_close((adjoint(duals) * field).sum(), along)


def test_what_lies_beyond_the_last_edge_is_ignored() -> None:
    images, rows = picture("random", 1, 3, 4), torch.ones((1, 1, 1, 3, 4), dtype=DOUBLE)
    duals = random_duals((1, 1, 3, 4))
    region = Threat("inf", 0.5).region((3, 4))
    bound = dual_bound(images, region, rows, 0.1, duals)
    duals[:, :, 0, :, :, -1] = 1e6
    duals[:, :, 1, :, -1] = -1e6
    assert torch.equal(dual_bound(images, region, rows, 0.1, duals), bound)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("border", ["clamp", "inside"])
@pytest.mark.parametrize("size", [1e-3, 0.1, 3.0, 1e4])
def test_any_duals_are_sound(norm: float, border: Border, size: float) -> None:
    images, threat = picture("real", 3, 6, 7), Threat(norm, 1.2, 0.15, border)
    rows = torch.randn((1, 6, 3, 6, 7), dtype=DOUBLE, generator=draw(0))
    fields = threat.sample((6, 7), 60, generator=draw(1))
    values = torch.einsum("rchw,nchw->rn", rows[0], warp(images, fields)).amin(1)
    duals = size * random_duals((1, 6, 6, 7), 4)
    region = threat.region((6, 7))
    assert bool((dual_bound(images, region, rows, 0.15, duals)[0] <= values + 1e-12).all())


def test_duals_that_fit_a_field_prove_it_optimal() -> None:
    # x = j / 8, and the row wants pixel 2 to the left and pixel 5 to the right: they drift apart
    # by gamma at every edge between them, and duals of 1/8 there prove that this is all.
    images = (torch.arange(8, dtype=DOUBLE) / 8).expand(1, 1, 1, 8).contiguous()
    rows = torch.zeros((1, 1, 1, 1, 8), dtype=DOUBLE)
    rows[..., 2], rows[..., 5] = 1.0, -1.0
    duals = torch.zeros((1, 1, 2, 2, 1, 8), dtype=DOUBLE)
    duals[..., 0, 0, 0, 2:5] = 1 / 8
    region = Threat("inf", 0.9, 0.1).region((1, 8))
    still = (2 - 5) / 8
    bound = dual_bound(images, region, rows, 0.1, duals).item()
    assert bound == pytest.approx(still - 3 * 0.1 / 8, abs=1e-12)
    assert dual_bound(images, region, rows, 0.1, -duals).item() < bound - 0.1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300])
def test_duals_that_are_no_numbers_prove_nothing(bad: float) -> None:
    images = picture("random", 1, 3, 3)
    rows = torch.ones((1, 3, 1, 3, 3), dtype=DOUBLE)
    duals = random_duals((1, 3, 3, 3))
    duals[0, 1, 0, 1, 1, 1] = bad
    region = Threat(2, 0.5).region((3, 3))
    bound = dual_bound(images, region, rows, 0.1, duals)[0]
    assert bound[1].item() == -math.inf
    assert bool(torch.isfinite(bound[[0, 2]]).all())


@pytest.mark.parametrize("norm", NORMS)
def test_rounding_is_taken_off(norm: float) -> None:
    # Without coupling the bound must not exceed the exact sum, however large the duals are.
    images = torch.full((1, 1, 5, 5), 0.1, dtype=DOUBLE)
    rows = torch.full((1, 1, 1, 5, 5), 1 / 3, dtype=DOUBLE)
    region = Threat(norm, 0.0).region((5, 5))
    exact = 25 * math.fsum([1 / 3]) * 0.1
    for size in (0.0, 1.0, 1e6):
        bound = dual_bound(images, region, rows, 0.0, size * random_duals((1, 1, 5, 5))).item()
        assert bound < exact and exact - bound < 1e-4


# Underflow

FAINTEST = 2.0**-1074


def exact_value(image: Tensor, row: Tensor) -> Fraction:
    """<row, image>, without any rounding."""
    pairs = zip(image.flatten().tolist(), row.flatten().tolist(), strict=True)
    return sum((Fraction(x) * Fraction(a) for x, a in pairs), Fraction(0))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.0, 0.5, 1.2])
@pytest.mark.parametrize(("level", "sign"), [(0.4, -1.0), (0.6, 1.0), (0.3, 2.0), (0.9, -1.0)])
def test_products_that_underflow_are_paid_for(
    norm: float, delta: float, level: float, sign: float
) -> None:
    # All fields leave a plain image as it is, and its products are rounded up or away.
    images = torch.full((1, 1, 5, 5), level, dtype=DOUBLE)
    rows = torch.full((1, 1, 1, 5, 5), sign * FAINTEST, dtype=DOUBLE)
    region = Threat(norm, delta, 0.1).region((5, 5))
    framed = nn.pad(images, (math.ceil(delta),) * 4, mode="replicate")
    bounds = [
        free_bound(images, region, rows)[0],
        dual_bound(images, region, rows, 0.1, 0 * random_duals((1, 1, 5, 5))),
        dual_bound(images, region, rows, 0.1, FAINTEST * random_duals((1, 1, 5, 5)).sign()),
        DeformedImage(images, Threat(norm, delta, 0.1)).minimise(rows, steps=5).bound,
    ]
    if delta > 0:
        bounds.append(translation_bound(framed, region, rows, 0.1))
    for bound in bounds:
        assert -1e-280 < Fraction(bound.item()) <= exact_value(images, rows)


@pytest.mark.parametrize("norm", NORMS)
def test_faint_rows_are_above_no_member(norm: float) -> None:
    images, threat = picture("real", 2, 6, 6), Threat(norm, 0.7, 0.1)
    rows = torch.randn((1, 8, 2, 6, 6), dtype=DOUBLE, generator=draw(0)).mul(3).round() * FAINTEST
    bounds = DeformedImage(images, threat).minimise(rows, steps=20).bound
    for field in threat.sample((6, 6), 10, generator=draw(1)):
        member = warp(images, field[None])
        for r in range(8):
            assert Fraction(bounds[0, r].item()) <= exact_value(member[0], rows[0, r])


def test_rows_of_zeros_are_exactly_zero() -> None:
    images, rows = picture("real", 1, 5, 5), torch.zeros((1, 2, 1, 5, 5), dtype=DOUBLE)
    rows[0, 1, 0, 2, 2] = FAINTEST
    for norm in NORMS:
        region = Threat(norm, 0.5).region((5, 5))
        framed = nn.pad(images, (1,) * 4, mode="replicate")
        for bound in (
            free_bound(images, region, rows)[0],
            dual_bound(images, region, rows, 0.1, 0 * random_duals((1, 2, 5, 5))),
            translation_bound(framed, region, rows, 0.1),
        ):
            assert bound[0, 0].item() == 0 and bound[0, 1].item() < 0
