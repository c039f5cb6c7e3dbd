"""Measurements: cases that name themselves, and numbers that are known from elsewhere."""

from __future__ import annotations

import json
import math
import time

import pytest
import torch

import warpcert as wc
from warpcert.data import ZOO
from warpcert.experiments.measure import (
    Accuracy,
    Coverage,
    GeometryTimes,
    Measurement,
    accuracy,
    coverage,
    geometry,
)
from warpcert.experiments.measure.pictures import load_image
from warpcert.experiments.measure.stopwatch import time_runs

ALL: list[Measurement] = [Accuracy.quick(), Coverage.quick(), GeometryTimes.quick()]
ALL += [Accuracy(root="data"), Coverage(), GeometryTimes()]


@pytest.mark.parametrize("measurement", ALL)
def test_cases_name_themselves(measurement: Measurement) -> None:
    cases = measurement.cases()
    assert json.loads(json.dumps(cases, allow_nan=False)) == cases
    assert len({json.dumps(case, sort_keys=True) for case in cases}) == len(cases) > 0


def test_quick_coverage_is_part_of_the_full_one() -> None:
    full = Coverage().cases()
    assert all(case in full for case in Coverage.quick().cases())
    assert {case["side"] for case in full} == {None, 224}


def test_accuracy_is_what_the_zoo_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "chunk_size", lambda *_: 30)  # the last part is a smaller one
    names = ("mnist-convsmall-ibp", "cifar10-convsmall-ibp")
    measurement = Accuracy(names)
    for case in measurement.cases():
        row = measurement(case, "cpu")
        known = ZOO[case["network"]].bundled
        assert (row["correct"], row["n"]) == (known.correct, known.all)
        assert row["accuracy"] == known.correct / known.all
    whole = Accuracy(names, root="data").cases()
    assert [case["images"] for case in whole] == ["mnist/test", "cifar10/test"]


@pytest.mark.slow
def test_ten_thousand_uniform_fields_cover_the_bounds() -> None:
    measurement = Coverage(count=1, enlarged=0)
    shares = [measurement(case, "cpu")["share"] for case in measurement.cases()]
    assert len(shares) == 2
    assert all(0.985 <= share <= 1 for share in shares)


def test_coverage_of_known_images() -> None:
    generator, threat = torch.Generator().manual_seed(0), wc.Threat("inf", 1.0)
    level = coverage.cover(torch.full((1, 1, 4, 4), 0.5), threat, 3, generator)
    assert level.reached == level.left == 0
    assert level.possible == pytest.approx(0, abs=1e-9)
    ramp = torch.tensor([0.0, 0.5, 1.0]).expand(1, 1, 1, 3)
    one = coverage.cover(ramp, threat, 1, torch.Generator().manual_seed(0))
    drawn = threat.sample((1, 3), 1, generator=torch.Generator().manual_seed(0), kind="uniform")
    expected = (wc.warp(ramp.double(), drawn) - ramp).abs().sum()
    assert one.reached == pytest.approx(float(expected))
    assert one.possible == pytest.approx(0.5 + 1.0 + 0.5)


def test_a_value_outside_the_bounds_is_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = wc.Threat("inf", 0.9)
    narrowed = lambda images, _: wc.pixel_bounds(images, narrow)  # noqa: E731 - as it is called
    monkeypatch.setattr(coverage, "pixel_bounds", narrowed)
    measurement = Coverage(count=1, enlarged=0, fields=50)
    with pytest.raises(wc.Unsound, match="mnist:0 left their bounds"):
        measurement(measurement.cases()[0], "cpu")


def test_geometry_times() -> None:
    measurement = GeometryTimes(runs=3, side=40)
    cases = [case for case in measurement.cases() if case["norm"] == "inf"]
    assert [(case["what"], case["images"], case["side"]) for case in cases] == [
        (what, images, side)
        for images, side in (("mnist:0", None), ("cifar10:0", None), ("cifar10:0", 40))
        for what in ("intervals", "planes")
    ]
    digit, threat = load_image("mnist:0"), wc.Threat()
    assert isinstance(geometry.WORK["intervals"](digit, threat), wc.Interval)
    planes = geometry.WORK["planes"](digit, threat)
    assert isinstance(planes, tuple)
    assert [plane.shape for plane in planes] == [(1, 1, 28, 28, 3)] * 2
    rows = [measurement(case, "cpu") for case in cases]
    assert all(0 < row["fastest"] <= row["seconds"] <= row["slowest"] for row in rows)
    assert [row["shape"] for row in rows[::2]] == [[1, 28, 28], [3, 32, 32], [3, 40, 40]]
    assert rows[-1]["origin"] == "cifar10:0 enlarged to 40 x 40 pixels"


def test_the_stopwatch_stops_what_it_should() -> None:
    calls: list[float] = []

    def work() -> None:
        calls.append(time.perf_counter())
        time.sleep(0.01)

    taken = time_runs(work, "cpu", runs=3)
    assert (len(calls), len(taken)) == (4, 3) and min(taken) >= 0.01
    assert sum(time_runs(work, "cpu", at_least=0.05)) >= 0.05


def test_enlarged_images_are_photographs_still() -> None:
    small, large = load_image("cifar10:0"), load_image("cifar10:0", 224)
    assert large.shape == (1, 3, 224, 224)
    corners = (..., slice(None, None, 223), slice(None, None, 223))
    assert torch.allclose(large[corners], small[..., ::31, ::31], atol=1e-6)
    levels = large.double() * 255
    assert float((levels - levels.round()).abs().max()) < 1e-4
    assert math.isclose(float(large.mean()), float(small.mean()), abs_tol=0.02)
    with pytest.raises(ValueError, match="2 images: name one"):
        load_image("mnist:0-1")
