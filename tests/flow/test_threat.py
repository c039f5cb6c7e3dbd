"""Threat: what it accepts, and which fields belong to it, at and just beyond the border."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.flow.agree import NORMS
from tests.flow.pictures import draw
from warpcert import Threat

DOUBLE = torch.float64


def constant(dx: float, dy: float, height: int = 3, width: int = 4) -> Tensor:
    return torch.tensor([dx, dy], dtype=DOUBLE).repeat(1, height, width, 1)


def zero(height: int = 3, width: int = 4) -> Tensor:
    return constant(0, 0, height, width)


# What a threat is made of


@pytest.mark.parametrize(
    ("norm", "stored"),
    [
        *((norm, 1.0) for norm in (1, 1.0, "1")),
        *((norm, 2.0) for norm in (2, 2.0, "2")),
        *((norm, math.inf) for norm in (math.inf, "inf")),
    ],
)
def test_norms_may_be_written_in_several_ways(norm: Any, stored: float) -> None:
    threat = Threat(norm, 0.5)
    assert threat.norm == stored and isinstance(threat.norm, float)
    assert threat == Threat(stored, 0.5)


def test_whole_numbers_will_do() -> None:
    threat: Any = Threat(norm=2, delta=1, gamma=0)
    assert (threat.norm, threat.delta, threat.gamma) == (2.0, 1.0, 0.0)
    assert {type(threat.norm), type(threat.delta), type(threat.gamma)} == {float}


@pytest.mark.usefixtures("unwatched")
def test_gamma_may_be_infinite() -> None:
    assert Threat().gamma == Threat(gamma=math.inf).gamma == math.inf
    assert Threat(gamma="inf").gamma == math.inf  # type: ignore[arg-type]  # as in a JSON row


def test_threats_are_values() -> None:
    assert (
        Threat(2.0, 0.5) == Threat(2.0, 0.5) and len({Threat(2.0), Threat(2.0), Threat(1.0)}) == 2
    )
    with pytest.raises(AttributeError):
        Threat().delta = 2.0  # type: ignore[misc]


WRONG: list[tuple[str, Any]] = [
    *(("norm", wrong) for wrong in (0, 3, 1.5, -1, math.nan, "two", "", True, None, [1], 1j)),
    *(("delta", wrong) for wrong in (-0.5, -1e-300, math.nan, math.inf, "0.5", True, None, "big")),
    *(("gamma", wrong) for wrong in (-0.1, math.nan, -math.inf, "0.1", False, None, "big")),
    *(("border", wrong) for wrong in ("wrap", "Clamp", "", None, 1, True)),
]


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize(("name", "wrong"), WRONG)
def test_wrong_values_are_refused_and_shown(name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        Threat(**{name: wrong})
    message = str(caught.value)
    assert message.startswith(name) and str(wrong) in message and "\n" not in message


# Regions


@pytest.mark.parametrize("norm", NORMS)
def test_a_clamped_border_cuts_nothing(norm: float) -> None:
    region = Threat(norm, 0.7).region((3, 4))
    assert (region.norm, region.delta) == (norm, 0.7)
    assert region.uniform
    assert region.lower.tolist() == [-0.7, -0.7] and region.upper.tolist() == [0.7, 0.7]


def test_inside_cuts_what_points_outside() -> None:
    region = Threat(math.inf, 1.5, border="inside").region((3, 5))
    assert region.lower.shape == region.upper.shape == (3, 5, 2)
    assert region.lower[1, :, 0].tolist() == [0, -1, -1.5, -1.5, -1.5]
    assert region.upper[1, :, 0].tolist() == [1.5, 1.5, 1.5, 1, 0]
    assert region.lower[:, 2, 1].tolist() == [0, -1, -1.5]
    assert region.upper[:, 2, 1].tolist() == [1.5, 1, 0]


def test_inside_neighbours_hold_each_other_back() -> None:
    region = Threat(math.inf, 1.0, 0.25, "inside").region((2, 6))
    assert region.lower[0, :, 0].tolist() == [0, -0.25, -0.5, -0.75, -1, -1]
    assert region.upper[1, :, 0].tolist() == [1, 1, 0.75, 0.5, 0.25, 0]
    assert region.upper[:, 3, 1].tolist() == [0.25, 0]


@pytest.mark.parametrize("gamma", [0.0, 0.3, 0.9, 1.0, 1.7, math.inf])
@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 6), (4, 3)])
def test_regions_are_what_the_constraints_leave(gamma: float, height: int, width: int) -> None:
    # By brute force: a component is bounded by every pixel's own bound, gamma for each step away.
    region = Threat(math.inf, 2.2, gamma, "inside").region((height, width))
    for i, j in itertools.product(range(height), range(width)):
        for k, (here, length) in enumerate([(j, width), (i, height)]):
            slack = [0.0 if s == 0 else gamma * s for s in range(length)]
            low = min(min(2.2, m) + slack[abs(m - here)] for m in range(length))
            high = min(min(2.2, length - 1 - m) + slack[abs(m - here)] for m in range(length))
            assert -region.lower[i, j, k].item() == pytest.approx(low, abs=1e-12)
            assert region.upper[i, j, k].item() == pytest.approx(high, abs=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [0.0, 0.3, 2.0, math.inf])
def test_every_corner_of_a_region_is_reached_by_a_member(norm: float, gamma: float) -> None:
    threat = Threat(norm, 1.4, gamma, "inside")
    region = threat.region((3, 4))
    for i, j, right, down in itertools.product(range(3), range(4), (0, 1), (0, 1)):
        ends = (region.lower[i, j], region.upper[i, j])
        corner = torch.stack([ends[right][0], ends[down][1]])
        corner = corner * min(1.0, 1.4 / max(1e-9, float(torch.linalg.vector_norm(corner, norm))))
        field = torch.clamp(corner.expand(1, 3, 4, 2), region.lower, region.upper)
        assert bool(threat.contains(field))
        torch.testing.assert_close(field[0, i, j], corner, rtol=0, atol=1e-15)


# Membership


@pytest.mark.parametrize("norm", NORMS)
def test_delta_itself_belongs_and_no_more(norm: float) -> None:
    threat = Threat(norm, 0.6)
    tips = {1.0: (0.36, 0.24), 2.0: (0.36, 0.48), math.inf: (0.6, 0.6)}
    dx, dy = tips[norm]
    for right, down in itertools.product((1, -1), repeat=2):
        field = zero()
        field[0, 2, 1] = torch.tensor([right * dx, down * dy], dtype=DOUBLE)
        assert bool(threat.contains(field))
        assert not bool(threat.contains(field * (1 + 1e-12)))
    for axis in (0, 1):
        field = zero()
        field[0, 0, 3, axis] = 0.6
        assert bool(threat.contains(field))
        assert not bool(threat.contains(field * (1 + 1e-12)))


@pytest.mark.parametrize("component", [0, 1])
@pytest.mark.parametrize("axis", [1, 2])
def test_gamma_itself_belongs_and_no_more(component: int, axis: int) -> None:
    threat = Threat(math.inf, 1.0, 0.25)
    steps = torch.arange(4 if axis == 2 else 3, dtype=DOUBLE)
    ramp = zero()
    ramp[..., component] = 0.25 * (steps if axis == 2 else steps[:, None])
    assert bool(threat.contains(ramp)) and bool(threat.contains(-ramp))
    beyond = ramp.clone()
    beyond[0, -1, -1, component] += 1e-12
    assert not bool(threat.contains(beyond))
    assert bool(Threat(math.inf, 1.0).contains(beyond))


def test_diagonal_neighbours_are_free() -> None:
    field = torch.tensor([[-0.1, 0.0], [0.0, 0.1]], dtype=DOUBLE)[None, :, :, None].repeat(
        1, 1, 1, 2
    )
    assert bool(Threat(math.inf, 0.5, 0.1).contains(field))


def test_gamma_of_zero_means_translations() -> None:
    threat = Threat(2.0, 1.0, 0.0)
    assert bool(threat.contains(constant(0.6, -0.8)))
    field = constant(0.6, -0.8)
    field[0, 1, 1, 0] = math.nextafter(0.6, 0)
    field[0, 1, 2, 1] += 1e-12
    assert not bool(threat.contains(field))


@pytest.mark.parametrize("side", ["left", "right", "top", "bottom"])
def test_inside_no_pixel_points_outside(side: str) -> None:
    threat = Threat(math.inf, 3.0, border="inside")
    field = zero(4, 5)
    index, component, sign = {
        "left": ((0, 2, 1), 0, -1.0),
        "right": ((0, 2, 3), 0, 1.0),
        "top": ((0, 1, 2), 1, -1.0),
        "bottom": ((0, 2, 2), 1, 1.0),
    }[side]
    field[index][component] = sign
    assert bool(threat.contains(field))
    field[index][component] = sign * (1 + 1e-12)
    assert not bool(threat.contains(field))
    assert bool(Threat(math.inf, 3.0).contains(field))


def test_inside_forbids_even_translations() -> None:
    threat = Threat(math.inf, 0.5, border="inside")
    for dx, dy in ((0.1, 0.0), (-0.1, 0.0), (0.0, 0.1), (0.0, -0.1)):
        assert not bool(threat.contains(constant(dx, dy)))
    assert bool(threat.contains(zero()))


def test_every_field_of_a_batch_is_judged_alone() -> None:
    fields = torch.cat([constant(0.5, 0), constant(0.6, 0), constant(0, -0.5), constant(0, -0.6)])
    assert Threat(math.inf, 0.5).contains(fields).tolist() == [True, False, True, False]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("gamma", [math.inf, 0.1])
def test_no_member_holds_what_is_not_a_number(wrong: float, gamma: float) -> None:
    field = zero()
    field[0, 1, 1, 1] = wrong
    assert Threat(math.inf, 0.5, gamma).contains(torch.cat([field, zero()])).tolist() == [
        False,
        True,
    ]


def test_float32_numbers_are_taken_as_exact() -> None:
    single = torch.tensor(0.1, dtype=torch.float32)  # 0.100000001490116
    field = torch.zeros((1, 2, 2, 2), dtype=torch.float32)
    field[0, 0, 0, 0] = single
    assert not bool(Threat(math.inf, 0.1).contains(field))
    assert bool(Threat(math.inf, single.item()).contains(field))
    assert not bool(Threat(math.inf, 1.0, 0.1).contains(field))
    assert bool(Threat(math.inf, 1.0, single.item()).contains(field))


def test_norms_are_nested() -> None:
    fields = torch.rand((500, 1, 1, 2), dtype=DOUBLE, generator=draw(0)) * 2 - 1
    one, two, most = (Threat(norm, 0.8).contains(fields) for norm in NORMS)
    assert bool((one <= two).all()) and bool((two <= most).all())
    assert 0 < one.sum() < two.sum() < most.sum() < 500


# Excess


@pytest.mark.parametrize(
    ("threat", "field", "excess"),
    [
        (Threat(math.inf, 0.5), constant(0.7, 0.6), 0.2),
        (Threat(1.0, 0.5), constant(0.7, 0.6), 0.8),
        (Threat(2.0, 0.5), constant(0.3, -0.4), 0.0),
        (Threat(2.0, 0.5), constant(0.6, -0.8), 0.5),
        (Threat(math.inf, 2.0, border="inside"), constant(0.25, 0.0), 0.25),
        (Threat(math.inf, 0.5), zero(), -0.5),
    ],
)
def test_excess_is_measured_in_pixels(threat: Threat, field: Tensor, excess: float) -> None:
    assert threat.excess(field).tolist() == pytest.approx([excess], abs=1e-15)


def test_excess_over_gamma() -> None:
    field = zero()
    field[0, 1, 1, 1] = 0.4
    assert Threat(math.inf, 0.5, 0.25).excess(field).item() == pytest.approx(0.15, abs=1e-15)


# Misuse


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize("method", ["contains", "project"])
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (zero().numpy(), "fields must be a torch tensor, got ndarray"),
        (zero().long(), "fields must be float32 or float64, got int64"),
        (zero()[0], r"fields must have the shape \(B, H, W, 2\), got \(3, 4, 2\)"),
        (zero()[..., :1], r"fields must end in the axis \(dx, dy\), got \(1, 3, 4, 1\)"),
        (zero()[:0], r"fields must not be empty, got the shape \(0, 3, 4, 2\)"),
    ],
)
def test_what_is_no_field_is_refused(method: str, fields: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        getattr(Threat(), method)(fields)
    assert "\n" not in str(caught.value)
