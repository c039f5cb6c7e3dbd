"""Attacks on problems whose answer is known."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from tests.attacks.problems import against, problem
from warpcert import Box, DeformedImage, Interval, Network, Threat
from warpcert.attacks import (
    QUICK,
    STRONGEST,
    ADef,
    Attack,
    Cascade,
    FrankWolfe,
    Linearised,
    ProjectedGradient,
    Search,
    StAdv,
    ThroughBox,
)
from warpcert.attacks.chase import Chase, Found

DOUBLE = torch.float64
LABELS = torch.tensor([0, 0])


def linear(channels: int = 1) -> tuple[Network, Tensor, Tensor]:
    """A network that is linear, two images and the network's row."""
    generator = torch.Generator().manual_seed(5)
    row = torch.randn((channels, 6, 5), generator=generator, dtype=DOUBLE)
    images = torch.rand((2, channels, 6, 5), generator=generator)
    return against(row), images, row


def lowest(images: Tensor, threat: Threat, row: Tensor) -> Tensor:
    """The least margin there is, or a bound of it where gamma is finite and not zero."""
    rows = row.expand(2, 1, *row.shape)
    return DeformedImage(images, threat).minimise(rows).bound.squeeze(1)


@pytest.mark.parametrize("norm", [1, 2, math.inf])
@pytest.mark.parametrize("channels", [1, 3])
def test_free_pixels_of_a_linear_network_reach_the_minimum(norm: float, channels: int) -> None:
    network, images, row = linear(channels)
    threat = Threat(norm, 1.7)
    found = Linearised(steps=1)(network, DeformedImage(images, threat), LABELS)
    torch.testing.assert_close(found.margins, lowest(images, threat, row), rtol=0, atol=1e-4)


@pytest.mark.parametrize("attack", [ProjectedGradient(steps=30), FrankWolfe(steps=60)])
def test_descent_on_a_box_reaches_the_corner(attack: Attack) -> None:
    network, images, row = linear(3)
    box = Box(Interval(images - 0.05, images + 0.05))
    exact = box.minimise(row.expand(2, 1, *row.shape)).bound.squeeze(1)
    found = attack(network, box, LABELS)
    close = 1e-4 if isinstance(attack, ProjectedGradient) else 0.2
    torch.testing.assert_close(found.margins, exact, rtol=0, atol=close)


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_a_translation_is_found(norm: float) -> None:
    """With gamma = 0 there is nothing else, and for norm inf the best is known."""
    network, images, row = linear()
    threat = Threat(norm, 0.8, 0.0)
    found = STRONGEST(network, DeformedImage(images, threat), LABELS)
    fields = found.parameters
    assert bool((fields == fields[:, :1, :1]).all())
    if norm == math.inf:
        exact = lowest(images, threat, row)
        standing = exact > -(2.0**-10)  # others stop when they are fooled
        torch.testing.assert_close(
            torch.where(standing, found.margins, exact), exact, rtol=0, atol=1e-3
        )
        assert bool((found.fooled == (exact < 0)).all())


@pytest.mark.parametrize("attack", [ProjectedGradient(steps=30), FrankWolfe(steps=30)])
@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_smooth_fields_come_near_the_bound(attack: Attack, norm: float) -> None:
    """On a slanted plane nothing is lost by the relaxation, but at the border: the bound is
    nearly reached."""
    slanted = torch.linspace(0.1, 0.6, 9)[:, None] + torch.linspace(0.0, 0.3, 8)
    images = torch.stack([slanted, slanted.flip(0)])[:, None]
    row = torch.zeros((1, 9, 8), dtype=DOUBLE)
    row[0, 1:4, 1:-1], row[0, 5:8, 1:-1] = 1.0, -1.0  # up here and down there
    network, threat = against(row, -5.0), Threat(norm, 0.8, 0.2)
    found = attack(network, DeformedImage(images, threat), LABELS)
    plain, bound = network(images)[:, 0] + 5, lowest(images, threat, row)
    share = (plain - (found.margins - 5)) / (plain - bound)
    assert bool((share <= 1 + 1e-6).all())
    assert bool((share > 0.8).all())


def test_the_box_is_reached_pixel_by_pixel() -> None:
    """At one channel and gamma = inf the box is the set: what is found there is found here."""
    network, images, _ = linear()
    descent = ProjectedGradient(steps=10, restarts=2, tries=5)
    for norm in (1, 2, math.inf):
        inputs = DeformedImage(images, Threat(norm, 1.7))
        bent = ThroughBox(descent)(network, inputs, LABELS)
        boxed = descent(network, Box(inputs.box), LABELS)
        torch.testing.assert_close(bent.margins, boxed.margins, rtol=0, atol=1e-3)


def test_adef_goes_just_past_the_boundary() -> None:
    """For a linear network and a ramp, bending is linear, too: one step is enough."""
    ramp = torch.linspace(0.2, 0.8, 5).expand(1, 1, 6, 5)
    row = torch.zeros((1, 6, 5), dtype=DOUBLE)
    row[0, 2:4, 2] = 1.0
    network = against(row, 2 * 0.5 - 0.03)  # the margin is 0.03: a tenth of a pixel
    inputs = DeformedImage(ramp, Threat(delta=1.0))
    found = ADef(steps=1, overshoot=0.2)(network, inputs, torch.tensor([0]))
    assert bool(found.fooled.all())
    assert float(found.margins) == pytest.approx(-0.2 * 0.03, rel=1e-3)
    assert bool((found.parameters[..., 0] <= 1e-6).all())  # to the left, where it is darker
    assert float(found.parameters.abs().max()) < 0.2


def test_stadv_pays_for_roughness() -> None:
    """The more it pays, the smoother the field is."""
    _, images, row = linear()
    plain = against(row)(images)[:, 0]
    threshold = float(plain.min()) - 0.5
    network = against(row, threshold)
    inputs = DeformedImage(images, Threat(delta=1.0))
    free, dear = (
        StAdv(steps=30, step=0.05, roughness=r)(network, inputs, LABELS) for r in (0.0, 0.05)
    )
    for found in (free, dear):
        assert bool((found.margins < plain - threshold - 0.1).all())
    assert variation(dear.parameters) < 0.8 * variation(free.parameters)


def variation(fields: Tensor) -> float:
    return float(fields.diff(dim=1).abs().sum() + fields.diff(dim=2).abs().sum())


def test_every_start_is_tried_for_every_target(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = problem("inf inf clamp")
    seen = []

    def each(chase: Chase, starts: Tensor, run: object, targets: Tensor) -> Found:
        seen.append((starts, targets))
        return Found(starts[:, 0], chase.margins(starts[:, 0]))

    monkeypatch.setattr(Chase, "each", each)
    ProjectedGradient(restarts=3, tries=3, targets=9)(asked.network, asked.inputs, asked.labels)
    ((starts, targets),) = seen
    assert starts.shape[1] == targets.shape[1] == 3 * 3  # of four classes three are rivals
    for k, label in enumerate(asked.labels.tolist()):
        names = [start.numpy().tobytes() for start in starts[k]]
        pairs = set(zip(names, targets[k].tolist(), strict=True))
        assert len(set(names)) > 1
        assert pairs == set(itertools.product(names, set(range(4)) - {label}))


# Cascades


class Watch(Attack):
    """Remembers whom it is sent after, and returns the start."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, list[float]]] = []

    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        self.seen.append((len(chase), start.margins.tolist()))
        return start


def test_a_cascade_hands_on_what_still_stands_and_the_best_so_far() -> None:
    network, images, row = linear()
    threat = Threat(delta=0.2)
    bounds = lowest(images, threat, row)
    plain = network(images)[:, 0]
    between = (plain.max() + bounds[plain.argmax()]) / 2  # one falls at once, one may fall
    shifted = against(row, float(min(plain.min(), between)))
    watch = Watch()
    Cascade((Linearised(steps=1), watch))(shifted, DeformedImage(images, threat), LABELS)
    margins = bounds - float(min(plain.min(), between))
    standing = [float(m) for m in margins if m >= -(2.0**-10)]
    assert [n for n, _ in watch.seen] == ([len(standing)] if standing else [])
    for _, best in watch.seen:
        assert best == pytest.approx(standing, abs=1e-4)


def test_a_cascade_stops_when_all_are_fooled() -> None:
    asked = problem("inf inf clamp")
    watch = Watch()
    wrong = (asked.labels + 1) % 4
    found = Cascade((watch,))(asked.network, asked.inputs, wrong)
    assert bool(found.fooled.all()) and not watch.seen


def test_what_comes_with_the_package() -> None:
    assert isinstance(QUICK.attacks[0], Search)
    assert STRONGEST.attacks[: len(QUICK.attacks)] == QUICK.attacks
