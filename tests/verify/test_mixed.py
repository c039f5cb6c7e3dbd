"""milp and lp as methods: verdicts that are known beforehand, and trouble."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import pytest
import torch

import warpcert as wc
from tests.bound.test_overview import FREE, SMOOTH, toy
from tests.flow.pictures import OVERVIEW
from tests.solve.test_mixed import Says, shifted
from tests.verify.networks import brightness, deep, network, step_image
from tests.verify.test_certify import QUARTER, one
from warpcert import Interval, Status, Threat, Unsound
from warpcert.attacks import Search
from warpcert.bound import Bounds, DeepPoly
from warpcert.core.clock import limited, tick
from warpcert.solve import Mixed
from warpcert.solve import Status as Ended
from warpcert.verify.docket import Docket
from warpcert.verify.mixed import Decide
from warpcert.verify.programs import one_by_one

PROGRAMS = ["lp", "milp"]


@pytest.mark.parametrize("method", PROGRAMS)
def test_the_threshold_between_certified_and_falsified(method: str) -> None:
    verdict = one(brightness(0.26), step_image(), 0, QUARTER, method)
    assert verdict.status is Status.CERTIFIED and verdict.reason == ""
    verdict = one(brightness(0.24), step_image(), 0, QUARTER, method)
    if method == "lp":
        assert verdict.status is Status.UNKNOWN
    else:
        assert verdict.status is Status.FALSIFIED and verdict.field is not None
        assert bool(QUARTER.contains(verdict.field[None]).all())


@pytest.mark.parametrize("method", PROGRAMS)
def test_a_tie_is_not_certified(method: str) -> None:
    assert one(brightness(0.25), step_image(), 0, QUARTER, method).status is Status.UNKNOWN


def hard(bias: float) -> wc.Network:
    """Two layers: the least margin is bias - 0.481, by linear programs bias - 0.587."""
    generator = torch.Generator().manual_seed(1)
    first, second, tail = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((6, 2), (6, 6), (1, 6))
    )
    centre = torch.tensor([0.125, 0.875], dtype=torch.float64)
    return deep(
        (first.tolist(), (-first @ centre).tolist()),
        (second.tolist(), [0.0] * 6),
        (torch.cat([tail, 0 * tail]).tolist(), [bias, 0.0]),
    )


def docket(bias: float = 0.53) -> Docket:
    return Docket(hard(bias), step_image()[None].double(), torch.tensor([0]), QUARTER)


def decided(step: Decide, bias: float = 0.53) -> wc.Verdict:
    asked = docket(bias)
    replace(step, before=DeepPoly(), attack=Search(tries=1))(asked, torch.tensor([0]))
    (verdict,) = asked.verdicts()
    return verdict


def test_a_certificate_by_integers_says_what_it_rests_on() -> None:
    assert one(hard(0.53), step_image(), 0, QUARTER, "lp").status is Status.UNKNOWN
    verdict = one(hard(0.53), step_image(), 0, QUARTER, "milp")
    assert verdict.status is Status.CERTIFIED and verdict.method == "milp"
    assert 0 < verdict.margin <= 0.053  # it stops as soon as the sign is known
    assert "by the word of HiGHS" in verdict.reason and "1e-07" in verdict.reason


def test_a_proof_by_linear_programs_needs_nobodys_word() -> None:
    verdict = one(hard(0.5895), step_image(), 0, QUARTER, "milp")
    assert verdict.status is Status.CERTIFIED and verdict.reason == ""


def test_a_negative_margin_is_realised_and_tested() -> None:
    verdict = decided(Decide(), 0.47)
    assert verdict.status is Status.FALSIFIED and verdict.field is not None
    bent = wc.warp(step_image()[None].double(), verdict.field[None])
    assert hard(0.47)(bent).argmax() == 1 and verdict.margin < 0


@pytest.mark.parametrize("status", [Ended.INFEASIBLE, Ended.FAILED, Ended.TIMEOUT])
def test_solvers_in_trouble_are_a_reason(status: Ended) -> None:
    for point in (False, True):
        verdict = decided(Decide(mixed=Mixed(Says(status, -1.0, has_point=point))))
        assert verdict.status is Status.UNKNOWN and verdict.reason
    verdict = decided(Decide(mixed=Mixed(Says(absent="SCIP is not installed"))))
    assert verdict.status is Status.UNKNOWN and verdict.reason == "SCIP is not installed"


def test_bounds_that_leave_out_the_image_are_a_defect() -> None:
    asked = docket()
    step = Decide()
    which = torch.tensor([0])
    bounds = step.before(asked.network, asked.inputs(which), asked.rows)
    (first, interval), *rest = bounds.layers.items()
    at = asked.network.values(asked.images)[first]
    wrong = Interval(torch.minimum(interval.upper, at + 0.01), interval.upper)
    asked.prove(which, Bounds({first: wrong, **dict(rest)}, bounds.margins), "alpha")
    with pytest.raises(Unsound):
        step(asked, which)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("method", PROGRAMS)
def test_a_network_that_computes_no_numbers_is_never_certified(method: str, number: float) -> None:
    weight = torch.ones((2, 16), dtype=torch.float64)
    weight[1, 3] = number
    verdict = one(network(weight, None), step_image(0.5, 0.7), 0, QUARTER, method)
    assert verdict.status in (Status.UNKNOWN, Status.MISCLASSIFIED)


@pytest.mark.parametrize("method", PROGRAMS)
def test_the_time_limit_is_kept(method: str) -> None:
    net = wc.load_network("mnist-convsmall-ibp")
    images, labels = wc.load_images("mnist:10-10")
    start = time.monotonic()
    verdict = one(net, images[0], int(labels[0]), Threat("inf", 0.6), method, timeout=1.5)
    assert time.monotonic() - start < 8
    assert verdict.status is Status.UNKNOWN and verdict.reason


def test_an_image_that_takes_long_leaves_the_others_their_time() -> None:
    asked = Docket(
        hard(0.53),
        step_image()[None].double().expand(3, -1, -1, -1),
        torch.tensor([0] * 3),
        QUARTER,
    )
    done: list[int] = []

    def work(place: int, k: int) -> None:
        while place == 0:
            tick()
        done.append(k)

    with limited(0.6):
        one_by_one("slow", asked, torch.arange(3), work)
    assert done == [1, 2]
    assert asked.reasons == ["the image's share of the time ended the step slow", "", ""]


def test_without_a_linear_program_nothing_is_believed() -> None:
    encoding, row, relaxed, image = shifted(1.5)
    lost = replace(relaxed, duals=None)
    answer = Mixed()(encoding, encoding.cost(4, row), lost, start=image)
    assert answer.bound == -math.inf and "linear program" in answer.end


@pytest.mark.parametrize(
    ("bias", "threat", "relaxation"),
    [(0.125, FREE, "hull"), (-0.125, FREE, "hull"), (-0.125, SMOOTH, "planes")],
)
def test_the_overview(bias: float, threat: Threat, relaxation: str) -> None:
    """Both networks of the paper's figure, the second also with flow."""
    verdict = one(toy(bias), OVERVIEW[0], 1, threat, "milp", relaxation=relaxation)
    assert verdict.status is Status.CERTIFIED


def test_methods_are_named() -> None:
    with pytest.raises(ValueError, match="lp, krelu, milp"):
        one(brightness(0.3), step_image(), 0, QUARTER, "simplex")
    with pytest.raises(ValueError, match="intersect=False is for the method 'deeppoly'"):
        one(brightness(0.3), step_image(), 0, QUARTER, "milp", intersect=False)
