"""Finite gamma: close to the hull program, never above a member, whatever the duals."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.contract.input_set import inner
from tests.flow.agree import NORMS, Border
from tests.flow.pictures import draw, picture
from tests.flow.problems import disc, hull_bound, network_rows, square
from warpcert import DeformedImage, Threat, pixel_bounds, support, warp
from warpcert.flow.coupled import coupled_minimum
from warpcert.flow.deformed import EFFORTS
from warpcert.flow.dual import dual_bound
from warpcert.flow.points import Points
from warpcert.flow.region import Region
from warpcert.flow.search import search

DOUBLE = torch.float64


def dual_alone(images: Tensor, threat: Threat, rows: Tensor, effort: str) -> Tensor:
    """What duals prove after a search, without the help of other bounds."""
    region = threat.region((images.shape[2], images.shape[3]))
    spent = EFFORTS[effort]
    points = Points.of(images, region, spent.rim)
    steps = spent.steps_for(float(threat.norm))
    duals, _ = search(points.combine(rows), points.at, threat.gamma, steps)
    return dual_bound(images, region, rows, threat.gamma, duals)


# Against the hull program


@pytest.mark.parametrize(
    ("channels", "side", "delta", "gamma"),
    [
        (1, 28, 0.3, 0.01),
        (1, 28, 0.5, 0.1),
        (1, 20, 1.0, 0.001),
        (3, 32, 0.5, 0.01),
        (3, 20, 0.3, 0.3),
        (3, 20, 1.0, 0.1),
        (3, 14, 1.6, 0.05),
    ],
)
def test_duals_come_close_to_the_hull(channels: int, side: int, delta: float, gamma: float) -> None:
    images, rows = network_rows(channels, side)
    free = support(images, Threat("inf", delta), rows)[0]
    threat = Threat("inf", delta, gamma)
    usual = dual_alone(images, threat, rows, "default")[0]
    best = support(images, threat, rows)[0]
    for r in range(rows.shape[1]):
        most = hull_bound(images[0], rows[0, r], square(delta), gamma)
        gain = most - float(free[r])
        assert gain > 0
        assert float(usual[r]) <= most + 1e-7 * abs(most), "above the optimum"
        assert float(usual[r]) >= most - 0.05 * gain
        assert float(best[r]) >= float(usual[r]) - 1e-3 * gain


@pytest.mark.parametrize(("channels", "delta", "gamma"), [(1, 0.3, 0.01), (3, 1.0, 0.1)])
def test_a_thorough_search_comes_closer(channels: int, delta: float, gamma: float) -> None:
    images, rows = network_rows(channels, 16)
    free = support(images, Threat("inf", delta), rows)[0]
    best = dual_alone(images, Threat("inf", delta, gamma), rows, "thorough")[0]
    for r in range(rows.shape[1]):
        most = hull_bound(images[0], rows[0, r], square(delta), gamma)
        assert float(best[r]) <= most + 1e-7 * abs(most)
        assert float(best[r]) >= most - 0.01 * (most - float(free[r]))


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize(("delta", "gamma"), [(0.5, 0.1), (0.5, 0.3), (1.0, 0.02), (1.0, 0.3)])
def test_round_balls_come_close_to_their_hulls(norm: float, delta: float, gamma: float) -> None:
    images, rows = network_rows(3, 10)
    threat = Threat(norm, delta, gamma)
    free = support(images, Threat(norm, delta), rows)[0]
    usual = dual_alone(images, threat, rows, "default")[0]
    best = dual_alone(images, threat, rows, "thorough")[0]
    for r in range(rows.shape[1]):
        most = hull_bound(images[0], rows[0, r], disc(norm, delta), gamma)
        gain = most - float(free[r])
        assert max(float(usual[r]), float(best[r])) <= most + 1e-7 * abs(most)
        assert float(usual[r]) >= most - 0.05 * gain
        assert float(best[r]) >= most - 0.01 * gain


def test_one_pixel_has_no_neighbours() -> None:
    images, rows = picture("random", 3, 1, 1), torch.randn((1, 4, 3, 1, 1), dtype=DOUBLE)
    for norm in NORMS:
        held = support(images, Threat(norm, 0.5, 0.01), rows)
        torch.testing.assert_close(held, support(images, Threat(norm, 0.5), rows))


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("component", [0, 1])
def test_a_known_answer_for_every_direction_and_component(down: bool, component: int) -> None:
    # x = k / 9 along one axis: a row that pulls two pixels apart, along one of the grid's
    # directions, gains gamma / 9 for each of the three edges between them.
    ramp = (torch.arange(9, dtype=DOUBLE) / 9).expand(1, 1, 9, 9)
    image = ramp.contiguous() if component == 0 else ramp.transpose(2, 3).contiguous()
    rows = torch.zeros((1, 1, 1, 9, 9), dtype=DOUBLE)
    first, last = ((3, 4), (6, 4)) if down else ((4, 3), (4, 6))
    rows[0, 0, 0][first], rows[0, 0, 0][last] = 1.0, -1.0
    still = float((rows[0, 0] * image[0]).sum())
    for gamma in (0.05, 0.2):
        bound = support(image, Threat("inf", 0.8, gamma), rows).item()
        assert bound <= still - 3 * gamma / 9 + 1e-15
        assert bound >= still - 3 * gamma / 9 * 1.01
        dual = dual_alone(image, Threat("inf", 0.8, gamma), rows, "default").item()
        free = still - 2 * 0.8 / 9
        least = still - 3 * gamma / 9
        assert least - 0.05 * (least - free) <= dual <= least + 1e-15


# Against members


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("border", ["clamp", "inside"])
@pytest.mark.parametrize("gamma", [0.003, 0.05, 0.4])
def test_no_member_is_below(norm: float, border: Border, gamma: float) -> None:
    images, rows = network_rows(3, 12, count=4)
    threat = Threat(norm, 1.2, gamma, border)
    fields = threat.sample((12, 12), 80, generator=draw(0))
    values = torch.einsum("rchw,nchw->rn", rows[0], warp(images, fields)).amin(1)
    assert bool((support(images, threat, rows)[0] <= values + 1e-12).all())


def test_a_member_found_by_descent_is_not_below() -> None:
    # The hardest member at hand: the field of the dual's own minimisers, made a member.
    images, rows = network_rows(1, 12, count=3)
    threat = Threat("inf", 0.8, 0.1)
    bounds = support(images, threat, rows)[0]
    for r in range(3):
        field = torch.zeros((1, 12, 12, 2), dtype=DOUBLE, requires_grad=True)
        for _ in range(30):
            value = (rows[0, r] * warp(images, field)[0]).sum()
            (grad,) = torch.autograd.grad(value, field)
            moved = field.detach() - 0.1 * grad / grad.abs().max()
            field = threat.project(moved).requires_grad_()
            assert bounds[r] <= (rows[0, r] * warp(images, field.detach())[0]).sum() + 1e-12


def test_channels_move_together() -> None:
    # The same ramp twice, once with each sign: apart the channels would gain, together nothing.
    ramp = (torch.arange(8, dtype=DOUBLE) / 8).expand(1, 2, 8, 8).contiguous()
    rows = torch.randn((1, 1, 1, 8, 8), dtype=DOUBLE, generator=draw(0))
    rows = torch.cat([rows, -rows], dim=2)
    for norm in NORMS:
        assert support(ramp, Threat(norm, 0.7, 0.1), rows).abs().item() < 1e-9


# Any duals, any order


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", ["nan", "inf", "huge", "noise", "zero"])
def test_no_warm_duals_spoil_the_bound(norm: float, kind: str) -> None:
    images, rows = network_rows(1, 10)
    deformed = DeformedImage(images, Threat(norm, 0.6, 0.05))
    good = deformed.minimise(rows)
    assert good.duals is not None
    noise = torch.randn(good.duals.shape, generator=draw(0)) * good.duals.abs().max()
    spoiled = {
        "nan": torch.full_like(good.duals, math.nan),
        "inf": noise * math.inf,
        "huge": noise * 1e30,
        "noise": noise,
        "zero": 0 * noise,
    }[kind]
    least = inner(rows, images)
    fields = deformed.threat.sample((10, 10), 60, generator=draw(1))
    for f in fields:
        least = torch.minimum(least, inner(rows, warp(images, f[None])))
    free = support(images, Threat(norm, 0.6), rows)
    for steps in (0, 20):
        bound = deformed.minimise(rows, warm=spoiled, steps=steps).bound
        assert bool((bound <= least + 1e-12).all())
        assert bool((bound >= free - 1e-9).all())


def test_warm_duals_are_kept_when_nothing_is_better() -> None:
    images, rows = network_rows(3, 12)
    deformed = DeformedImage(images, Threat("inf", 0.5, 0.1))
    first = deformed.minimise(rows)
    assert first.duals is not None
    for steps in (0, 1, 30):
        again = deformed.minimise(rows, warm=first.duals, steps=steps)
        assert again.duals is not None
        assert bool((again.bound >= first.bound).all())
    assert torch.equal(deformed.minimise(rows, warm=first.duals, steps=0).bound, first.bound)
    assert deformed.minimise(rows, steps=0).duals is None


def test_the_duals_are_those_behind_the_bound() -> None:
    images, rows = network_rows(3, 12)
    deformed = DeformedImage(images, Threat("inf", 0.5, 0.2))
    noise = 1e-4 * torch.randn((1, 2, 2, 2, 12, 12), generator=draw(0))
    nothing = deformed.minimise(rows, steps=0).bound
    for warm in (None, noise, deformed.minimise(rows).duals):
        found = deformed.minimise(rows, warm, steps=100)
        assert bool((found.bound > nothing).all())
        again = deformed.minimise(rows, found.duals, steps=0)
        assert torch.equal(found.bound, again.bound)


def test_a_smaller_gamma_is_never_worse() -> None:
    images, rows = network_rows(1, 14)
    for norm in NORMS:
        warm, before = None, torch.full((1, 2), -math.inf, dtype=DOUBLE)
        for gamma in (math.inf, 0.5, 0.2, 0.1, 0.03, 0.01, 0.003, 0.0):
            found = DeformedImage(images, Threat(norm, 0.6, gamma)).minimise(rows, warm, steps=40)
            assert bool((found.bound >= before - 1e-12).all())
            warm, before = found.duals, found.bound


@pytest.mark.parametrize("gamma", [0.1, 0.01])
def test_warm_steps_find_half_of_what_there_is(gamma: float) -> None:
    """Twenty of them, from good duals of a row that was nearly the same."""
    images, rows = network_rows(1, 28)
    threat = Threat("inf", 0.5, gamma)
    points = Points.of(images, threat.region((28, 28)), 0)
    other = rows * (1 + 0.03 * torch.randn(rows.shape, dtype=DOUBLE, generator=draw(0)))
    before, after = points.combine(rows), points.combine(other)

    def height(duals: Tensor) -> Tensor:
        return dual_bound(images, threat.region((28, 28)), other, gamma, duals).sum()

    start, _ = search(before, points.at, gamma, 500)
    most, _ = search(after, points.at, gamma, 1000)
    found, _ = search(after, points.at, gamma, 20, start)
    assert height(most) > height(start)
    assert height(found) - height(start) > 0.5 * (height(most) - height(start))


def test_a_few_warm_steps_are_worth_many_cold_ones() -> None:
    images, rows = network_rows(3, 16)
    deformed = DeformedImage(images, Threat("inf", 0.5, 0.1))
    other = rows * (1 + 0.05 * torch.randn(rows.shape, dtype=DOUBLE, generator=draw(0)))
    known = deformed.minimise(rows).duals
    warm = deformed.minimise(other, warm=known, steps=30).bound
    assert bool((warm > deformed.minimise(other, steps=30).bound).all())


def test_duals_of_another_shape_are_not_used() -> None:
    images, rows = network_rows(1, 10)
    deformed = DeformedImage(images, Threat("inf", 0.5, 0.1))
    warm = torch.ones((1, 2, 2, 2, 4, 4))
    cold = deformed.minimise(rows, steps=10)
    assert torch.equal(deformed.minimise(rows, warm=warm, steps=10).bound, cold.bound)


def test_batches_and_chunks_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    images, rows = network_rows(1, 10, count=5, batch=3)
    threat = Threat("inf", 0.5, 0.1)
    together = DeformedImage(images, threat).minimise(rows)
    monkeypatch.setattr("warpcert.flow.deformed.CACHED", 200)
    parts = DeformedImage(images, threat).minimise(rows)
    torch.testing.assert_close(together.bound, parts.bound, rtol=1e-4, atol=1e-4)
    alone = DeformedImage(images[1:2], threat).minimise(rows[1:2])
    torch.testing.assert_close(together.bound[1:2], alone.bound, rtol=1e-4, atol=1e-4)
    assert together.duals is not None and parts.duals is not None
    assert together.duals.shape == parts.duals.shape == (3, 5, 2, 2, 10, 10)


@pytest.mark.parametrize("size", [2.0**-90, 2.0**-60, 2.0**60, 2.0**100])
def test_the_size_of_a_row_does_not_matter(size: float) -> None:
    images, rows = network_rows(1, 10)
    deformed = DeformedImage(images, Threat("inf", 0.5, 0.2))
    bound, duals = deformed.minimise(rows)
    scaled = deformed.minimise(size * rows)
    torch.testing.assert_close(scaled.bound / size, bound, rtol=1e-4, atol=1e-4)
    assert duals is not None and scaled.duals is not None
    torch.testing.assert_close(scaled.duals / size, duals)


def test_a_negative_number_of_steps_is_refused() -> None:
    images, rows = network_rows(1, 10)
    with pytest.raises(ValueError, match="steps must be at least 0, got -1"):
        DeformedImage(images, Threat("inf", 0.5, 0.2)).minimise(rows, steps=-1)


def test_float32_rows_and_images() -> None:
    images, rows = network_rows(3, 10)
    threat = Threat("inf", 0.5, 0.05)
    single = support(images.float(), threat, rows.float())
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), support(images, threat, rows), rtol=1e-4, atol=1e-4)
    assert support(images.float(), threat, rows).dtype == DOUBLE


def test_a_gamma_of_twice_delta_is_free() -> None:
    images, rows = network_rows(3, 8)
    for norm in NORMS:
        held = DeformedImage(images, Threat(norm, 0.5, 1.0))
        free = DeformedImage(images, Threat(norm, 0.5))
        assert torch.equal(held.minimise(rows).bound, free.minimise(rows).bound)
        assert not held.searches and DeformedImage(images, Threat(norm, 0.5, 0.9)).searches


# Gradients


def test_the_gradient_is_nearly_where_the_minimum_is() -> None:
    images, rows = network_rows(3, 16)
    asked = rows.clone().requires_grad_()
    threat = Threat("inf", 0.5, 0.1)
    bound = support(images, threat, asked)
    (grad,) = torch.autograd.grad(bound.sum(), asked)
    gain = bound.detach() - support(images, Threat("inf", 0.5), rows)
    reached = (rows * grad).sum((2, 3, 4))
    assert bool(((reached - bound.detach()).abs() <= 0.1 * gain).all())


@pytest.mark.parametrize("norm", NORMS)
def test_the_gradient_for_given_duals_is_a_supergradient(norm: float) -> None:
    images, rows = network_rows(3, 10)
    deformed = DeformedImage(images, Threat(norm, 0.5, 0.1))
    duals = deformed.minimise(rows).duals
    assert duals is not None
    asked = rows.clone().requires_grad_()
    region = deformed.threat.region((10, 10))
    (grad,) = torch.autograd.grad(deformed.minimise(asked, duals, steps=0).bound.sum(), asked)
    proved = dual_bound(images, region, rows, 0.1, duals)
    for seed in range(5):
        other = rows + 0.1 * torch.randn(rows.shape, dtype=DOUBLE, generator=draw(seed))
        most = proved + ((other - rows) * grad).sum((2, 3, 4))
        slack = 1e-6 if norm == math.inf else 1e-2 * rows.abs().sum()
        assert bool((dual_bound(images, region, other, 0.1, duals) <= most + slack).all())


def test_the_gradient_of_a_patch_is_the_image_elsewhere() -> None:
    images, _ = network_rows(1, 10)
    rows = torch.zeros((1, 1, 1, 10, 10), dtype=DOUBLE)
    rows[..., 3:6, 4:7] = torch.randn((3, 3), dtype=DOUBLE, generator=draw(0))
    asked = rows.clone().requires_grad_()
    (grad,) = torch.autograd.grad(support(images, Threat("inf", 0.5, 0.1), asked).sum(), asked)
    outside = torch.ones((10, 10), dtype=torch.bool)
    outside[3:6, 4:7] = False
    assert torch.equal(grad[0, 0, 0][outside], images[0, 0][outside])
    assert bool((grad[0, 0, 0] != images[0, 0]).any())


# Parts of a threat


def halves(images: Tensor, threat: Threat) -> DeformedImage:
    """Both halves of the threat, by the sign of all displacements' dx."""
    batch, _, height, width = images.shape
    lower = torch.full((batch, 1, height, width, 2), -threat.delta, dtype=DOUBLE)
    upper = -lower
    left, right = upper.clone(), lower.clone()
    left[..., 0], right[..., 0] = 0.0, 0.0
    region = Region(
        float(threat.norm), threat.delta, torch.cat([lower, right]), torch.cat([left, upper])
    )
    return DeformedImage(torch.cat([images, images]), threat, region=region)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [0.1, math.inf])
def test_regions_of_their_own(norm: float, gamma: float) -> None:
    images, rows = network_rows(3, 10)
    threat = Threat(norm, 0.7, gamma)
    parts = halves(images, threat)
    bounds = parts.minimise(rows.expand(2, -1, -1, -1, -1)).bound
    whole = support(images, Threat(norm, 0.7), rows)[0]
    assert bool((bounds >= whole - 1e-9).all())
    fields = threat.sample((10, 10), 80, generator=draw(0))
    for number, sign in enumerate((-1, 1)):
        members = fields.clone()
        members[..., 0] = sign * members[..., 0].abs()
        members = members[threat.contains(members)]
        values = torch.einsum("rchw,nchw->rn", rows[0], warp(images, members))
        assert bool((bounds[number][:, None] <= values + 1e-12).all())
        bent = warp(images, members)
        box = parts.select(torch.tensor([number])).box
        assert bool(((bent >= box.lower - 1e-12) & (bent <= box.upper + 1e-12)).all())
    if gamma == math.inf:  # one of the halves holds each pixel's minimum
        assert bool((parts.box.lower[0] != parts.box.lower[1]).any())
        joint = torch.minimum(parts.box.lower[:1], parts.box.lower[1:])
        torch.testing.assert_close(joint, pixel_bounds(images, threat).lower)


@pytest.mark.parametrize("box", [(0.3, 0.6, -0.6, -0.2), (-0.6, 0.0, -0.1, 0.6)])
@pytest.mark.parametrize("gamma", [0.01, 0.1])
def test_duals_come_close_to_the_hull_of_a_part(
    box: tuple[float, float, float, float], gamma: float
) -> None:
    images, rows = network_rows(1, 16)
    lower, upper = (
        torch.tensor(ends, dtype=DOUBLE).expand(1, 1, 16, 16, 2).contiguous()
        for ends in (box[::2], box[1::2])
    )
    region = Region(math.inf, 0.6, lower, upper)
    found = DeformedImage(images, Threat("inf", 0.6, gamma), region=region).minimise(rows).bound[0]
    free = DeformedImage(images, Threat("inf", 0.6), region=region).minimise(rows).bound[0]
    stops = [
        (sorted({low, high, *([0.0] if low < 0 < high else [])}))
        for low, high in (box[:2], box[2:])
    ]
    points = torch.tensor([(x, y) for x in stops[0] for y in stops[1]], dtype=DOUBLE)
    for r in range(rows.shape[1]):
        most = hull_bound(images[0], rows[0, r], points, gamma)
        assert float(found[r]) <= most + 1e-7 * abs(most)
        assert float(found[r]) >= most - 0.05 * (most - float(free[r]))


def test_regions_come_along_with_their_images() -> None:
    images, rows = network_rows(1, 8)
    parts = halves(images, Threat("inf", 0.7, 0.1))
    bounds = parts.minimise(rows.expand(2, -1, -1, -1, -1), steps=20).bound
    chosen = parts.select(torch.tensor([1, 0, 1]))
    again = chosen.minimise(rows.expand(3, -1, -1, -1, -1), steps=20).bound
    torch.testing.assert_close(again, bounds[[1, 0, 1]])


@pytest.mark.parametrize("norm", NORMS)
def test_a_patch_has_the_regions_of_its_pixels(norm: float) -> None:
    images, _ = network_rows(1, 10)
    rows = torch.zeros((2, 2, 1, 10, 10), dtype=DOUBLE)
    rows[:, 0, :, 2:5, 5:8] = torch.randn((3, 3), dtype=DOUBLE, generator=draw(0))
    rows[:, 1, :, 7:, :3] = torch.randn((3, 3), dtype=DOUBLE, generator=draw(1))
    parts = halves(images, Threat(norm, 0.7))
    dense = parts.minimise(rows.clone().requires_grad_()).bound.detach()
    torch.testing.assert_close(parts.minimise(rows).bound, dense, rtol=1e-11, atol=1e-11)
    coupled = halves(images, Threat(norm, 0.7, 0.3)).minimise(rows)
    assert coupled.duals is not None and coupled.duals.shape == (2, 2, 2, 2, 3, 3)
    assert bool((coupled.bound >= dense - 1e-9).all())


@pytest.mark.usefixtures("unwatched")
def test_wrong_regions_and_efforts_are_refused() -> None:
    images = picture("random", 1, 4, 4)
    threat = Threat("inf", 0.5)
    ball = torch.full((1, 1, 4, 4, 2), 0.5, dtype=DOUBLE)
    with pytest.raises(ValueError, match="boxes of the shape"):
        DeformedImage(images, threat, region=threat.region((4, 4)))
    with pytest.raises(ValueError, match="part of the ball"):
        DeformedImage(images, threat, region=Region(2.0, 0.5, -ball, ball))
    with pytest.raises(ValueError, match="effort must be one of default, thorough"):
        DeformedImage(images, threat, effort="best")  # type: ignore[arg-type]


def test_every_bound_is_offered() -> None:
    # With nothing but free pixels, translations, or duals to go by, the best is taken of each.
    images, rows = network_rows(1, 10)
    threat = Threat("inf", 0.5, 0.001)
    deformed = DeformedImage(images, threat)
    found = coupled_minimum(deformed._frame, deformed._points, rows, threat.gamma, 0)
    free = support(images, Threat("inf", 0.5), rows)
    assert bool((found.bound > free).all()) and found.duals is None
