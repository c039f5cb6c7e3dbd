"""The lowest point of b cos + c sin + d cos sin on an arc, against grids, roots and 50 digits.

Errors are measured in units of |b| + |c| + |d|, which bounds the function.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import mpmath
import pytest
import torch
from torch import Tensor

from tests.flow.pictures import draw
from warpcert.flow.arc import half_angle, lowest_on_arc, may_dip

DOUBLE = torch.float64
QUARTER = math.pi / 2
COUNT = 60
Coefficients = tuple[Tensor, Tensor, Tensor]


def uniform(seed: int, *scale: float) -> Coefficients:
    """Random coefficients in [-1, 1], scaled."""
    b, c, d = (2 * torch.rand((3, COUNT), dtype=DOUBLE, generator=draw(seed)) - 1).unbind()
    first, second, third = scale or (1.0, 1.0, 1.0)
    return first * b, second * c, third * d


def symmetric(shift: float) -> Coefficients:
    """b = c up to a shift and d of the other sign: three stationary points, or one of order 3."""
    b, _, spread = uniform(11)
    return b, b * (1 + shift), -b * (0.75 + 0.3 * spread)


def flat(shift: float) -> Coefficients:
    """f' and f'' vanish together somewhere, up to a shift: a saddle about to become a minimum."""
    theta, d, sign = uniform(12)
    theta = QUARTER * theta.abs()
    sin, cos = torch.sin(theta), torch.cos(theta)
    first, second = -d * torch.cos(2 * theta), 2 * d * torch.sin(2 * theta)
    b, c = -(sin * first + cos * second), cos * first - sin * second
    return b * (1 + shift * sign), c, d


def shallow() -> Coefficients:
    """Two minima, one of them shallow and far from the middle: the pieces must be told apart."""
    share, lift, _ = uniform(13)
    b = 0.1 * (1 + 0.05 * lift)
    c = b * (0.65 + 0.1 * share)
    return b, c, -(b.pow(2 / 3) + c.pow(2 / 3)).pow(1.5) / 2.4


def fourth_order(shift: float) -> Coefficients:
    """For b = c < 0 and d = -b / sqrt 2 the minimum is flat up to order 4: Newton crawls there."""
    b, first, second = uniform(14)
    b = -b.abs()
    return b, b * (1 + shift * first), -b * math.sqrt(0.5) * (1 + shift * second)


CASES: dict[str, Callable[[], Coefficients]] = {
    "random": lambda: uniform(0),
    "no b": lambda: uniform(1, 0.0, 1.0, 1.0),
    "no c": lambda: uniform(2, 1.0, 0.0, 1.0),
    "no d": lambda: uniform(3, 1.0, 1.0, 0.0),
    "only d": lambda: uniform(4, 0.0, 0.0, 1.0),
    "only b": lambda: uniform(5, 1.0, 0.0, 0.0),
    "tiny d": lambda: uniform(6, 1.0, 1.0, 1e-15),
    "small d": lambda: uniform(7, 1.0, 1.0, 1e-7),
    "large d": lambda: uniform(8, 1e-7, 1e-7, 1.0),
    "tiny b": lambda: uniform(9, 1e-16, 1.0, 1.0),
    "tiny c": lambda: uniform(10, 1.0, 1e-16, 1.0),
    "b = c": lambda: symmetric(0.0),
    "b nearly c": lambda: symmetric(1e-9),
    "b almost c": lambda: symmetric(1e-15),
    "saddle": lambda: flat(0.0),
    "nearly saddle": lambda: flat(1e-8),
    "about saddle": lambda: flat(1e-3),
    "off centre": shallow,
    "fourth order": lambda: fourth_order(0.0),
    "nearly fourth order": lambda: fourth_order(1e-6),
    "about fourth order": lambda: fourth_order(1e-2),
}


def ends(which: str) -> tuple[Tensor, Tensor]:
    """Angles at which the arcs begin and end."""
    theta = QUARTER * torch.rand((2, COUNT), dtype=DOUBLE, generator=draw(99))
    first, last = theta.sort(0).values.unbind()
    if which == "whole":
        return torch.zeros(COUNT, dtype=DOUBLE), torch.full((COUNT,), QUARTER, dtype=DOUBLE)
    if which == "short":
        return first, torch.minimum(first + 1e-3, torch.tensor(QUARTER, dtype=DOUBLE))
    return first, last


def search(
    b: Tensor, c: Tensor, d: Tensor, first: Tensor, last: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(cos, sin) of the points found, and the least value there or at an end."""
    start, end = (half_angle(torch.cos(t).clamp(min=0), torch.sin(t)) for t in (first, last))
    cos, sin = lowest_on_arc(b, c, d, start, end)
    tried = [b * cos + c * sin + d * cos * sin, at(b, c, d, first), at(b, c, d, last)]
    return cos, sin, torch.stack(tried).amin(0)


def at(b: Tensor, c: Tensor, d: Tensor, theta: Tensor) -> Tensor:
    cos, sin = torch.cos(theta), torch.sin(theta)
    return b * cos + c * sin + d * cos * sin


def by_roots(b: float, c: float, d: float, first: float, last: float) -> float:
    """The minimum from the roots of w^2 f' with w = exp(i theta), at 50 digits."""
    if max(abs(b), abs(c), abs(d)) == 0:
        return 0.0
    with mpmath.workdps(50):
        angles = [mpmath.mpf(first), mpmath.mpf(last)]
        polynomial = [d, mpmath.mpc(c, b), 0, mpmath.mpc(c, -b), d]
        while polynomial and polynomial[0] == 0 == polynomial[-1]:
            polynomial = polynomial[1:-1]
        for root in mpmath.polyroots(polynomial, maxsteps=2000, extraprec=400):
            angle = mpmath.arg(root)
            if first <= angle <= last:
                angles.append(angle)
        values = [
            b * mpmath.cos(t) + c * mpmath.sin(t) + d * mpmath.cos(t) * mpmath.sin(t)
            for t in angles
        ]
        return float(min(values))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("which", ["whole", "cut", "short"])
def test_no_angle_of_a_grid_is_lower(case: str, which: str) -> None:
    b, c, d = CASES[case]()
    first, last = ends(which)
    _, _, found = search(b, c, d, first, last)
    size = b.abs() + c.abs() + d.abs()
    for share in torch.linspace(0, 1, 20001, dtype=DOUBLE).split(2000):
        theta = first + (last - first) * share[:, None]
        lowest = at(b, c, d, theta).amin(0)
        assert bool((found <= lowest + 1e-12 * size).all())


def test_no_angle_of_a_finer_grid_is_lower() -> None:
    coefficients = [
        torch.cat(part) for part in zip(*(make() for make in CASES.values()), strict=True)
    ]
    b, c, d = (x[::17] for x in coefficients)
    first, last = torch.zeros_like(b), torch.full_like(b, QUARTER)
    _, _, found = search(b, c, d, first, last)
    size = b.abs() + c.abs() + d.abs()
    for theta in torch.linspace(0, QUARTER, 200_001, dtype=DOUBLE).split(20_000):
        lowest = at(b, c, d, theta[:, None]).amin(0)
        assert bool((found <= lowest + 1e-12 * size).all())


@pytest.mark.parametrize("case", CASES)
def test_the_value_is_that_of_the_roots(case: str) -> None:
    b, c, d = (x[:5] for x in CASES[case]())
    first, last = (x[:5] for x in ends("whole" if len(case) % 2 else "cut"))
    _, _, found = search(b, c, d, first, last)
    for k in range(5):
        size = sum(abs(float(x[k])) for x in (b, c, d))
        least = by_roots(*(float(x[k]) for x in (b, c, d, first, last)))
        assert abs(found[k].item() - least) <= 1e-12 * size


@pytest.mark.parametrize("scale", [1e-300, 1e-60, 1e-44, 1e-38, 1e-20, 1e20, 1e38, 1e60, 1e300])
def test_the_point_does_not_depend_on_the_scale(scale: float) -> None:
    # Rows of a network come in all sizes; so does delta.
    for case, which in itertools.product(CASES, ("whole", "cut")):
        b, c, d = CASES[case]()
        first, last = ends(which)
        _, _, expected = search(b, c, d, first, last)
        cos, sin, _ = search(scale * b, scale * c, scale * d, first, last)
        tried = [b * cos + c * sin + d * cos * sin, at(b, c, d, first), at(b, c, d, last)]
        size = b.abs() + c.abs() + d.abs()
        assert bool(((torch.stack(tried).amin(0) - expected).abs() <= 1e-12 * size).all())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("which", ["whole", "cut", "short"])
def test_the_point_is_on_the_arc(case: str, which: str) -> None:
    first, last = ends(which)
    cos, sin, _ = search(*CASES[case](), first, last)
    torch.testing.assert_close(cos * cos + sin * sin, torch.ones(COUNT, dtype=DOUBLE))
    assert bool((cos >= 0).all()) and bool((sin >= 0).all())
    theta = torch.atan2(sin, cos)
    assert bool((theta >= first - 1e-15 * 8).all()) and bool((theta <= last + 1e-15 * 8).all())


def test_ends_may_be_shared() -> None:
    b, c, d = uniform(0)
    start, end = torch.tensor([-0.2], dtype=DOUBLE), torch.tensor([0.3], dtype=DOUBLE)
    alone = lowest_on_arc(b, c, d, start.expand(COUNT), end.expand(COUNT))
    for one, other in zip(lowest_on_arc(b, c, d, start, end), alone, strict=True):
        assert torch.equal(one, other)


def test_many_arcs_are_solved_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    b, c, d = uniform(0)
    first, last = ends("cut")
    whole = search(b, c, d, first, last)
    monkeypatch.setattr("warpcert.flow.arc.CACHED", 7)
    for one, other in zip(search(b, c, d, first, last), whole, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("v", "w", "z"),
    [
        (1.0, 1.0, 0.0),
        (1.0, 0.0, -math.tan(math.pi / 8)),
        (0.0, 1.0, math.tan(math.pi / 8)),
        (2.0, 2.0 * math.sqrt(3), math.tan(math.pi / 24)),
    ],
)
def test_half_angle(v: float, w: float, z: float) -> None:
    found = half_angle(torch.tensor(v, dtype=DOUBLE), torch.tensor(w, dtype=DOUBLE))
    assert found.item() == pytest.approx(z, abs=1e-15)


@pytest.mark.parametrize("case", CASES)
def test_arcs_said_to_have_no_dip_have_their_minimum_at_an_end(case: str) -> None:
    b, c, d = CASES[case]()
    theta = torch.linspace(0, QUARTER, 4001, dtype=DOUBLE)[:, None]
    values = at(b, c, d, theta)
    inside = values.amin(0) < torch.minimum(values[0], values[-1]) - 1e-12
    assert bool((may_dip(b, c, d) | ~inside).all())
    if case == "random":
        assert 0.1 < may_dip(b, c, d).double().mean() < 0.9


def beaten(b: Tensor, c: Tensor, d: Tensor, first: Tensor, last: Tensor) -> int:
    """How many of many arcs have an angle, on a grid, that is lower than what was found."""
    *_, least = search(b, c, d, first, last)
    steps = torch.linspace(0, 1, 600, dtype=DOUBLE)[:, None]
    grid = at(b, c, d, first + (last - first) * steps).amin(0)
    return int((least > grid + 1e-12).sum())


def test_the_deeper_of_two_minima_is_found() -> None:
    # f' goes from - to + over the quadrant, like that of a convex f, but through three zeros.
    draws = torch.rand((2, 4000), dtype=DOUBLE, generator=draw(15))
    b, c = (-1 - (math.sqrt(2) - 1) * draws).unbind()
    none = torch.zeros_like(b)
    assert beaten(b, c, none + 1, none, none + QUARTER) == 0


@pytest.mark.parametrize("cut", [False, True])
def test_none_of_many_arcs_has_a_lower_angle(cut: bool) -> None:
    b, c, d, *angles = torch.rand((5, 30000), dtype=DOUBLE, generator=draw(16)).unbind()
    first, last = torch.stack(angles).sort(0).values if cut else (0 * b, 0 * b + 1)
    assert beaten(2 * b - 1, 2 * c - 1, 4 * d - 2, QUARTER * first, QUARTER * last) == 0
