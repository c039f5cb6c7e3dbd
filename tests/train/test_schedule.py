"""A schedule is continuous, monotone and reaches its ends."""

from __future__ import annotations

from itertools import pairwise

import pytest

from warpcert.train import Schedule

STEPS = [k / 1000 for k in range(1001)]


def test_strength_grows_from_nothing_to_all():
    schedule = Schedule(warm=0.1, full=0.6)
    values = [schedule.strength(p) for p in STEPS]
    assert values[:101] == [0.0] * 101
    assert values[599] < 1.0 and values[600:] == [1.0] * 401
    steps = [b - a for a, b in pairwise(values)]
    assert min(steps) >= 0 and max(steps) < 0.005


def test_kappa_and_rate():
    schedule = Schedule(warm=0.1, full=0.5, decay=0.6, last_kappa=0.25)
    assert [schedule.kappa(p) for p in (0, 0.1, 1)] == [1, 1, 0.25]
    assert schedule.kappa(0.3) == pytest.approx(0.625)
    assert [schedule.rate(p) for p in (0, 0.6, 1, 1.1)] == [1, 1, 0, 0]
    assert schedule.rate(0.8) == pytest.approx(0.5)


def test_a_box_may_be_there_at_once():
    schedule = Schedule(warm=0.0, full=0.0, last_kappa=0.25)
    assert [schedule.strength(p) for p in (0, 0.5, 1)] == [1, 1, 1]
    assert [schedule.kappa(p) for p in (0, 1)] == [0.25, 0.25] and schedule.beta(0) == 0
    late = Schedule(warm=0.5, full=0.5)
    assert [late.strength(p) for p in (0, 0.49, 0.5, 1)] == [0, 0, 1, 1]


def test_beta_falls_as_the_box_grows():
    schedule = Schedule(warm=0.2, full=0.6)
    assert [schedule.beta(p) for p in (0, 0.2, 0.6, 1)] == [1, 1, 0, 0]
    assert schedule.beta(0.4) == pytest.approx(0.5)


def test_a_rate_in_steps():
    schedule = Schedule(decay=0.5, shape="step")
    found = [schedule.rate(p) for p in (0, 0.49, 0.5, 0.74, 0.75, 1)]
    assert found == pytest.approx([1, 1, 0.2, 0.2, 0.04, 0.04])


def test_a_cyclic_rate():
    schedule = Schedule(shape="cyclic", lowest=1e-6)
    assert [schedule.rate(p) for p in (0, 0.5, 1)] == pytest.approx([1e-6, 1, 1e-6])
    assert schedule.rate(0.25) == pytest.approx(0.5, abs=1e-5)


def test_more_misuse():
    with pytest.raises(ValueError, match="schedule must be one of linear, step, cyclic"):
        Schedule(shape="zigzag")
    with pytest.raises(ValueError, match="lowest rate"):
        Schedule(lowest=2.0)


@pytest.mark.parametrize("wrong", [{"warm": 0.6}, {"full": 1.1}, {"decay": 1.0}])
def test_misuse(wrong):
    with pytest.raises(ValueError, match="0 <= warm <= full <= 1"):
        Schedule(**wrong)
    with pytest.raises(ValueError, match="kappa must be between 0 and 1, got 2"):
        Schedule(last_kappa=2)
