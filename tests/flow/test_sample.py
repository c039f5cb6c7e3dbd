"""sample: only members, and among them the extreme ones that find unsound bounds."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.flow.agree import NORMS, Border
from tests.flow.pictures import draw
from warpcert import Threat

DOUBLE = torch.float64
SHAPE = (4, 5)
MANY = 64


def fields_of(threat: Threat, n: int = MANY, seed: int = 0, **options: Any) -> Tensor:
    return threat.sample(SHAPE, n, generator=draw(seed), **options)


def norms(fields: Tensor, norm: float) -> Tensor:
    return torch.linalg.vector_norm(fields, ord=norm, dim=-1)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [math.inf, 1.0, 0.3, 0.01, 1e-9, 0.0])
@pytest.mark.parametrize("border", ["clamp", "inside"])
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_all_are_members(norm: float, gamma: float, border: Border, dtype: torch.dtype) -> None:
    for delta, kind in ((0.1, "mixed"), (0.7, "mixed"), (3.7, "mixed"), (0.7, "uniform")):
        threat = Threat(norm, delta, gamma, border)
        fields = fields_of(threat, 40, dtype=dtype, kind=kind)
        assert fields.shape == (40, *SHAPE, 2) and fields.dtype == dtype
        assert bool(threat.contains(fields).all())


@pytest.mark.parametrize("kind", ["mixed", "uniform"])
@pytest.mark.parametrize("gamma", [math.inf, 0.3])
def test_the_same_generator_gives_the_same_fields(kind: str, gamma: float) -> None:
    threat = Threat(2.0, 0.7, gamma)
    assert torch.equal(fields_of(threat, kind=kind), fields_of(threat, kind=kind))
    other = fields_of(threat, seed=1, kind=kind)
    assert not torch.equal(fields_of(threat, kind=kind), other)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [math.inf, 0.3, 0.0])
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_extreme_translations_are_included(norm: float, gamma: float, dtype: torch.dtype) -> None:
    fields = fields_of(Threat(norm, 0.7, gamma), dtype=dtype).to(DOUBLE)
    half = 0.7 * math.sqrt(0.5)
    axes = [(0.7, 0.0), (-0.7, 0.0), (0.0, 0.7), (0.0, -0.7)]
    diagonals = {1.0: 0.0, 2.0: half, math.inf: 0.7}[norm]
    tips = [(s * diagonals, t * diagonals) for s in (1, -1) for t in (1, -1)]
    wanted = {1.0: axes, 2.0: axes + tips, math.inf: tips}[norm]
    for tip in wanted:
        away = (fields - torch.tensor(tip, dtype=DOUBLE)).abs().amax((1, 2, 3))
        assert away.min() <= (1e-12 if dtype == DOUBLE else 1e-6), tip


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [0.5, 0.3, 0.05])
def test_some_fields_spend_all_of_gamma(norm: float, gamma: float) -> None:
    fields = fields_of(Threat(norm, 0.7, gamma))
    for axis in (1, 2):
        for component in (0, 1):
            steps = fields.diff(dim=axis)[..., component]
            for extreme in (steps.amax(), -steps.amin()):
                assert extreme.item() == pytest.approx(gamma, abs=1e-12)
    # ... and at every pair of neighbours at once, which is what a checkerboard does.
    across, down = (fields.diff(dim=axis).abs().amax(-1).amin((1, 2)) for axis in (1, 2))
    assert torch.minimum(across, down).max().item() == pytest.approx(gamma, abs=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("across", "down"), [(1, 0), (0, 1), (1, 1), (1, -1)])
def test_ramps_climb_over_the_whole_image(norm: float, across: int, down: int) -> None:
    fields = fields_of(Threat(norm, 0.7, 0.05))
    found = torch.zeros((), dtype=torch.bool)
    for sign in (1, -1):
        rest = (fields.diff(dim=2) - sign * across * 0.05).abs().amax((1, 2))
        rest = torch.maximum(rest, (fields.diff(dim=1) - sign * down * 0.05).abs().amax((1, 2)))
        found |= (rest <= 1e-12).any()
    assert bool(found)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gamma", [math.inf, 0.3, 0.05])
@pytest.mark.parametrize("border", ["clamp", "inside"])
def test_some_pixels_go_as_far_as_they_may(norm: float, gamma: float, border: Border) -> None:
    delta = 0.7 if gamma == math.inf else 0.1
    fields = fields_of(Threat(norm, delta, gamma, border))
    assert norms(fields, norm).max().item() == pytest.approx(delta, abs=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_checkerboards_jump_across_the_whole_ball(norm: float) -> None:
    fields = fields_of(Threat(norm, 0.7))
    for axis in (1, 2):
        opposite = norms(fields.diff(dim=axis), norm) >= 1.4 - 1e-12
        assert bool(opposite.all((1, 2)).any())
    everywhere = [
        (norms(fields.diff(dim=axis), norm) >= 1.4 - 1e-12).all((1, 2)) for axis in (1, 2)
    ]
    assert bool((everywhere[0] & everywhere[1]).any())


@pytest.mark.parametrize("norm", NORMS)
def test_half_of_the_fields_are_random(norm: float) -> None:
    fields = fields_of(Threat(norm, 0.7), 200)
    distinct = {tuple(field.flatten().tolist()) for field in fields}
    assert len(distinct) > 100
    assert bool((norms(fields, norm) < 0.69).any((1, 2)).sum() >= 60)


@pytest.mark.parametrize("norm", NORMS)
def test_uniform_fields_fill_the_ball_evenly(norm: float) -> None:
    points = fields_of(Threat(norm, 0.5), 1000, kind="uniform").view(-1, 2)
    assert points.mean(0).abs().max() < 0.01
    # The ball of half the radius holds a quarter of them, in every quadrant alike.
    inner = norms(points, norm) <= 0.25
    assert inner.double().mean().item() == pytest.approx(0.25, abs=0.01)
    for right in (points[:, 0] > 0, points[:, 0] < 0):
        for down in (points[:, 1] > 0, points[:, 1] < 0):
            assert (right & down).double().mean().item() == pytest.approx(0.25, abs=0.01)


def test_uniform_fields_fill_a_region_cut_by_the_border_evenly() -> None:
    threat = Threat(math.inf, 0.5, border="inside")
    corner = fields_of(threat, 1000, kind="uniform")[:, 0, 0]  # its region is [0, 0.5] x [0, 0.5]
    assert corner.mean(0).tolist() == pytest.approx([0.25, 0.25], abs=0.02)
    assert (corner == 0).double().mean() < 0.01


def test_no_displacement_gives_zero_fields() -> None:
    assert torch.equal(fields_of(Threat(2.0, 0.0)), torch.zeros((MANY, *SHAPE, 2), dtype=DOUBLE))


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1)])
def test_few_fields_of_thin_images(n: int, shape: tuple[int, int]) -> None:
    for norm in NORMS:
        threat = Threat(norm, 0.7, 0.2, "inside")
        fields = threat.sample(shape, n, generator=draw(0))
        assert fields.shape == (n, *shape, 2)
        assert bool(threat.contains(fields).all())


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shape": (0, 3)}, r"shape must be \(H, W\) with H, W >= 1, got \(0, 3\)"),
        ({"shape": (3,)}, r"shape must be \(H, W\) with H, W >= 1, got \(3,\)"),
        ({"shape": (2, 3, 4)}, r"shape must be \(H, W\) with H, W >= 1, got \(2, 3, 4\)"),
        ({"n": -1}, "n must be >= 0, got -1"),
        ({"kind": "odd"}, "kind must be 'mixed' or 'uniform', got 'odd'"),
        ({"dtype": torch.int64}, "float32 or float64, got int64"),
    ],
)
def test_misuse_is_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        Threat().sample(**{"shape": SHAPE, "n": 4, **options})
    assert "\n" not in str(caught.value)


def test_no_fields_at_all() -> None:
    assert Threat().sample(SHAPE, 0).shape == (0, *SHAPE, 2)
