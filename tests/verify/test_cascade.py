"""Cascade: time limits are kept, trouble is told, and nothing contradicts itself."""

from __future__ import annotations

import time

import pytest
import torch
from torch import Tensor

import warpcert as wc
from tests.verify.networks import brightness, step_image
from warpcert import Status, Threat, Unsound
from warpcert.core.clock import TimeUp, left, limited, tick
from warpcert.verify.cascade import Cascade
from warpcert.verify.docket import Docket
from warpcert.verify.methods import steps
from warpcert.verify.step import Step

QUARTER = Threat("inf", 0.25)
IMAGES, LABELS = wc.load_images("mnist:8-9")


def docket(threshold: float = 0.25) -> Docket:
    image = step_image()[None].double()
    return Docket(brightness(threshold), image, torch.tensor([0]), QUARTER)


class Sleepy(Step):
    """Looks at the clock while it does nothing."""

    name = "sleepy"

    def __call__(self, docket: Docket, which: Tensor) -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            tick()


class Greedy(Step):
    name = "greedy"

    def __call__(self, docket: Docket, which: Tensor) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")


class Broken(Step):
    name = "broken"

    def __call__(self, docket: Docket, which: Tensor) -> None:
        raise RuntimeError("shapes do not fit")


def test_a_limit_is_kept_inside_a_step_and_what_was_proved_stays() -> None:
    asked = docket()
    start = time.monotonic()
    Cascade([*steps("deeppoly"), Sleepy()], timeout=0.5)(asked)
    assert time.monotonic() - start < 5
    (verdict,) = asked.verdicts()
    assert verdict.status is Status.UNKNOWN and verdict.method == "deeppoly"
    assert verdict.reason == "the time limit of 0.5 s for an image ended the step sleepy"
    assert verdict.margin == pytest.approx(0, abs=1e-6) and verdict.spent["sleepy"] > 0


@pytest.mark.parametrize("method", ["deeppoly", "alpha", "auto"])
def test_real_steps_look_at_the_clock(method: str) -> None:
    network = wc.load_network("mnist-convsmall-ibp")
    threat = wc.Threat("inf", 0.6, 0.1)
    start = time.monotonic()
    verdicts = wc.certify(network, IMAGES[:1], LABELS[:1], threat, method, timeout=0.05)
    assert time.monotonic() - start < 5
    assert isinstance(verdicts, list)
    assert verdicts[0].status in (Status.UNKNOWN, Status.FALSIFIED)
    if verdicts[0].status is Status.UNKNOWN:
        assert "time limit" in verdicts[0].reason


def test_memory_trouble_is_a_reason_and_the_next_step_is_tried() -> None:
    asked = docket()
    Cascade([Greedy()])(asked)
    assert asked.verdicts()[0].reason == "the step greedy ran out of memory"
    asked = docket(0.3)
    Cascade([Greedy(), *steps("interval")])(asked)
    assert asked.verdicts()[0].status is Status.CERTIFIED


def test_a_defect_is_raised() -> None:
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        Cascade([Broken()])(docket())


def test_a_certificate_and_a_field_contradict_each_other() -> None:
    asked = docket(0.3)
    Cascade(steps("interval"))(asked)
    asked.refute(0, torch.zeros(4, 4, 2), -0.1, 1, "attack")
    with pytest.raises(Unsound, match="is certified, and a field changes its label"):
        asked.verdicts()


def test_clocks_nest() -> None:
    tick()
    with limited(60), limited(1000):
        assert left() < 61
        tick()
        with limited(-1), pytest.raises(TimeUp):
            tick()
    assert left() == float("inf")


@pytest.mark.parametrize("timeout", [-1.0, float("nan"), float("inf")])
def test_wrong_limits_are_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout must be a number of seconds"):
        wc.certify(brightness(0.3), step_image(), 0, QUARTER, timeout=timeout)
