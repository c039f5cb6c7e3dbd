"""check: attacks that lie are found out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from tests.attacks.problems import against, layered, problem, random_network
from warpcert import Box, DeformedImage, Interval, Threat, Unsound
from warpcert.attacks import Attack
from warpcert.attacks.chase import Chase, Found
from warpcert.attacks.enclose import enclose
from warpcert.core import rounding

DOUBLE = torch.float64


@dataclass(frozen=True)
class Liar(Attack):
    """Hands out what it is told to, and says that it is good."""

    parameters: Callable[[Tensor], Tensor]

    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        v = self.parameters(start.parameters)
        return Found(v, torch.full_like(start.margins, -100.0))


@dataclass(frozen=True)
class Claimant(Attack):
    """Says that the image itself has another margin than it has."""

    by: float

    def search(self, chase: Chase, start: Found, generator: torch.Generator) -> Found:
        return Found(start.parameters, start.margins + self.by)


def moved(pixel: tuple[int, ...], by: float) -> Callable[[Tensor], Tensor]:
    def change(v: Tensor) -> Tensor:
        v = v.clone()
        v[(1, *pixel)] = by
        return v

    return change


@pytest.mark.parametrize(
    ("name", "lie"),
    [
        ("inf inf clamp", moved((2, 2, 0), 1.2 + 1e-5)),
        ("2 inf clamp", moved((2, 2), 1.0)),
        ("inf 0.05 clamp", moved((2, 2, 0), 0.06)),
        ("inf inf inside", moved((0, 0, 0), -0.01)),
        ("inf inf clamp", moved((2, 2, 0), math.nan)),
        ("box", moved((0, 1, 1), 2.0)),
        ("box", moved((0, 1, 1), math.nan)),
    ],
)
def test_what_is_not_a_member_is_refused(name: str, lie: Callable[[Tensor], Tensor]) -> None:
    asked = problem(name)
    with pytest.raises(Unsound, match="outside of their set"):
        Liar(lie)(asked.network, asked.inputs, asked.labels)


@pytest.mark.parametrize("name", ["box", "inf inf clamp", "inf 0.05 inside"])
@pytest.mark.parametrize("by", [-0.01, -100.0, -math.inf])
def test_a_margin_that_is_not_there_is_refused(name: str, by: float) -> None:
    asked = problem(name)
    if by == -math.inf:  # says nothing that could be compared
        assert not bool(Claimant(by)(asked.network, asked.inputs, asked.labels).fooled.any())
        return
    with pytest.raises(Unsound, match="a margin"):
        Claimant(by)(asked.network, asked.inputs, asked.labels)


def test_the_honest_are_believed() -> None:
    asked = problem("inf inf clamp")
    found = Claimant(0.0)(asked.network, asked.inputs, asked.labels)
    assert not bool(found.fooled.any()) and bool((found.margins > 0).all())


@pytest.mark.parametrize(("margin", "fooled"), [(-1e-18, False), (-1e-10, True), (1e-18, False)])
def test_only_a_margin_beyond_rounding_fools(margin: float, fooled: bool) -> None:
    """The image cannot change, and the margin is what it is up to the last bits of a sum."""
    image = torch.full((1, 1, 3, 3), 0.1, dtype=DOUBLE)
    row = torch.ones((1, 3, 3), dtype=DOUBLE)
    network = against(row, float(image.sum()) - margin)
    found = Claimant(0.0)(network, Box(Interval(image, image)), torch.tensor([0]))
    assert found.fooled.tolist() == [fooled]


def test_the_enclosure_holds_the_exact_scores() -> None:
    """Against rational arithmetic, at the image and at the corners of what is around it."""
    network = random_network((1, 2, 2), classes=3, seed=3)
    image = torch.rand((1, 1, 2, 2), dtype=DOUBLE)
    for radius in (0.0, 1e-3):
        scores = enclose(network, Interval(image - radius, image + radius))
        ends = [[Fraction(x - s * radius) for s in (1, -1)] for x in image.flatten().tolist()]
        inner, outer = (
            [[Fraction(w) for w in row] for row in network.steps[k].node.weight.tolist()]  # type: ignore[union-attr]
            for k in (1, 3)
        )
        for corner in itertools.product(*ends):
            hidden = [max(Fraction(0), dot(row, corner)) for row in inner]
            for k, row in enumerate(outer):
                exact = dot(row, hidden)
                assert Fraction(scores.lower[0, k].item()) <= exact
                assert exact <= Fraction(scores.upper[0, k].item())
    assert float(enclose(network, Interval(image, image)).width.max()) < 1e-12


def test_the_enclosure_pays_for_the_rounding_of_sums() -> None:
    """Without an activation, whose own rounding would hide it; the sums nearly cancel."""
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        weight = torch.randn((2, 30), generator=generator, dtype=DOUBLE)
        image = torch.rand((1, 1, 5, 6), generator=generator, dtype=DOUBLE)
        bias = -weight @ image.flatten()
        scores = enclose(layered((1, 5, 6), (weight, bias)), Interval(image, image))
        pixels = [Fraction(x) for x in image.flatten().tolist()]
        for k, row in enumerate(weight.tolist()):
            exact = dot([Fraction(w) for w in row], pixels) + Fraction(bias[k].item())
            assert Fraction(scores.lower[0, k].item()) <= exact
            assert exact <= Fraction(scores.upper[0, k].item())


def dot(row: list[Fraction], x: tuple[Fraction, ...] | list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(row, x, strict=True)), Fraction(0))


def test_an_enclosure_of_overflowing_scores_says_nothing() -> None:
    huge = torch.tensor([[1e308, 1e308], [-1e308, -1e308]], dtype=DOUBLE)
    network = layered((1, 1, 2), (huge, None), (torch.tensor([[1.0, -1.0]], dtype=DOUBLE), None))
    image = torch.full((1, 1, 1, 2), 2.0, dtype=DOUBLE)
    scores = enclose(network, Interval(image, image))
    assert scores.upper.item() == math.inf


def test_images_count_as_known_up_to_their_rounding_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = problem("inf inf clamp")
    wrong = (asked.labels + 1) % 4
    assert bool(Claimant(0.0)(asked.network, asked.inputs, wrong).fooled.all())
    monkeypatch.setattr(rounding, "realised", lambda x: torch.tensor(10.0, dtype=DOUBLE))
    assert not bool(Claimant(0.0)(asked.network, asked.inputs, wrong).fooled.any())


def test_the_warp_is_within_its_rounding() -> None:
    """One pixel between four, in rational arithmetic."""
    image = torch.rand((1, 1, 2, 2), dtype=DOUBLE)
    for field in torch.rand((200, 2), dtype=DOUBLE) * 10 ** -torch.randint(0, 18, (200, 1)):
        made = DeformedImage(image, Threat(delta=1.0))
        bent = made.realise(field.expand(1, 2, 2, 2))[0, 0, 0, 0].item()
        s, t = (Fraction(x) for x in field.tolist())
        a, b, c, d = (Fraction(x) for x in image.flatten().tolist())
        exact = (1 - t) * ((1 - s) * a + s * b) + t * ((1 - s) * c + s * d)
        assert abs(Fraction(bent) - exact) <= Fraction(rounding.realised(image).item())
