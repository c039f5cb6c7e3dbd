"""Boxes are the exact pixel intervals, and members lie in them."""

from __future__ import annotations

import math

import pytest
import torch

import warpcert as wc
from warpcert.train import Ball, Bending, BentGrey

NORMS = [1.0, 2.0, math.inf]
THREATS = [Ball(0.1), *(Bending(norm, 0.8) for norm in NORMS)]
GREY = [BentGrey(norm, 0.8) for norm in NORMS]


@pytest.fixture(scope="module")
def images() -> torch.Tensor:
    """Three photos, and noise with hard edges, in float64."""
    photos, _ = wc.load_images("cifar10:0-2")
    noise = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(1)).round(decimals=1)
    return torch.cat([photos, noise]).double()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("delta", [0.0, 0.3, 0.5, 1.0, 1.6])
def test_the_box_is_the_exact_one(images, norm, delta):
    lower, upper = Bending(norm, delta)(images)
    exact = wc.pixel_bounds(images, wc.Threat(norm, delta))
    torch.testing.assert_close(lower, exact.lower, rtol=0, atol=1e-12)
    torch.testing.assert_close(upper, exact.upper, rtol=0, atol=1e-12)
    assert (exact.lower <= lower).all() and (upper <= exact.upper).all()  # which round outwards
    assert (lower <= images).all() and (images <= upper).all()


@pytest.mark.parametrize("norm", NORMS)
def test_strength_is_a_part_of_delta(images, norm):
    whole, half = Bending(norm, 1.4), Bending(norm, 0.7)
    for strength in (0.5, torch.tensor(0.5, dtype=torch.float64)):
        for found, wanted in zip(whole(images, strength), half(images), strict=True):
            torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
    lower, upper = whole(images, 0.0)
    assert lower.equal(images) and upper.equal(images)


def test_a_step_by_hand():
    """A pixel beside an edge reaches as much of the other side as it can move."""
    image = torch.tensor([0.0, 0.0, 1.0, 1.0]).expand(1, 1, 4, 4).double()
    lower, upper = Bending(math.inf, 0.25)(image)
    assert lower[0, 0, 1].tolist() == [0.0, 0.0, 0.75, 1.0]
    assert upper[0, 0, 1].tolist() == [0.0, 0.25, 1.0, 1.0]


@pytest.mark.parametrize("threat", [*THREATS, *GREY], ids=repr)
def test_members_lie_in_the_box(images, threat):
    images = images[:, :1] if threat in GREY else images
    generator = torch.Generator().manual_seed(0)
    shape = threat.moves_shape(images)
    for strength in (1.0, 0.3):
        lower, upper = threat(images, strength)
        for draw in range(6):
            moves = 4 * torch.rand(shape, generator=generator, dtype=images.dtype) - 2
            moves = threat.limit(moves.sign() if draw % 2 else moves)
            member = threat.member(images, moves, strength)
            assert (lower - 1e-12 <= member).all() and (member <= upper + 1e-12).all()
        assert threat.member(images, torch.zeros_like(moves), strength).equal(images)


@pytest.mark.parametrize("norm", NORMS)
def test_moves_are_limited_to_the_unit_ball_and_reach_its_edge(norm):
    moves = 3 * torch.randn(2, 5, 5, 2, dtype=torch.float64)
    limited = Bending(norm, 0.5).limit(moves)
    lengths = torch.linalg.vector_norm(limited, ord=norm, dim=-1)
    assert float(lengths.max()) == pytest.approx(1)
    inside = torch.linalg.vector_norm(moves, ord=norm, dim=-1) <= 1
    assert limited[inside].equal(moves[inside])
    fields = limited * 0.5
    assert wc.Threat(norm, 0.5).contains(fields).all()


def test_the_greatest_moves_attain_the_box(images):
    """The corner of the square that a pixel's minimum is at is a field of the threat."""
    threat = Bending(math.inf, 0.5)
    lower, _ = threat(images[:1])
    corners = [
        threat.member(images[:1], torch.tensor([x, y], dtype=torch.float64).expand(1, 32, 32, 2))
        for x in (-1.0, 0.0, 1.0)
        for y in (-1.0, 0.0, 1.0)
    ]
    torch.testing.assert_close(torch.cat(corners).amin(0)[None], lower, rtol=0, atol=1e-12)


@pytest.mark.parametrize("threat", GREY, ids=repr)
@pytest.mark.parametrize("strength", [1.0, 0.4])
def test_moves_of_values_span_the_box(images, threat, strength):
    """Every image of the box, and nothing else, is a member; it is bent, pixel by pixel."""
    grey = images[:, :1]
    lower, upper = threat(grey, strength)
    ones = torch.ones(threat.moves_shape(grey), dtype=grey.dtype)
    for moves, end in ((-ones, lower), (ones, upper)):
        torch.testing.assert_close(threat.member(grey, moves, strength), end, rtol=0, atol=1e-15)
    share = torch.rand(grey.shape, generator=torch.Generator().manual_seed(2), dtype=grey.dtype)
    wanted = lower + share * (upper - lower)
    gap = torch.where(wanted > grey, upper - grey, grey - lower)
    moves = torch.where(gap > 0, (wanted - grey) / gap, 0.0)
    assert threat.limit(moves).equal(moves)
    torch.testing.assert_close(threat.member(grey, moves, strength), wanted, rtol=0, atol=1e-12)


def test_colours_do_not_move_by_themselves(images):
    with pytest.raises(ValueError, match="one channel"):
        GREY[0].moves_shape(images)


@pytest.mark.parametrize("threat", THREATS, ids=lambda t: t.title)
def test_the_interval_of_a_proof_holds_the_box(images, threat):
    interval = threat.interval(images.float())
    assert interval.lower.dtype == torch.float64
    lower, upper = threat(images.float().double())
    assert (interval.lower <= lower).all() and (upper <= interval.upper).all()
    assert float((interval.upper - upper).max()) < 1e-9


def test_titles():
    assert Ball(0.3).title == "L-inf, eps 0.3" and Ball(8 / 255).title == "L-inf, eps 8/255"
    assert Ball(0.1234567).title == "L-inf, eps 0.123457"
    assert Bending("2", 0.5).title == "T2, delta 0.5, gamma inf"


def test_misuse():
    for norm, delta in ((3, 0.5), (2, -1.0), (2, math.nan)):
        with pytest.raises(ValueError, match=r"(norm|delta) must be"):
            Bending(norm, delta)
