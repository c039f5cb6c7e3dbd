"""Verdict: claims and their evidence."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from warpcert import Status, Unsound, Verdict

FIELD = torch.zeros(2, 2, 2)


def made(status: Status, margin: float, **more: Any) -> Verdict:
    return Verdict(status, 1, 0, margin, "deeppoly", 0.1, **more)


@pytest.mark.parametrize(
    ("status", "margin", "more"),
    [
        (Status.CERTIFIED, 0.1, {}),
        (Status.CERTIFIED, 5e-324, {}),
        (Status.FALSIFIED, -0.1, {"field": FIELD}),
        (Status.UNKNOWN, -0.1, {"reason": "a gap"}),
        (Status.UNKNOWN, -math.inf, {"reason": "no bound"}),
        (Status.MISCLASSIFIED, -0.1, {}),
        (Status.MISCLASSIFIED, 0.0, {}),
    ],
)
def test_claims_with_their_evidence(status: Status, margin: float, more: Any) -> None:
    verdict = made(status, margin, **more)
    assert verdict.status is status and verdict.margin == margin
    assert verdict.status == status.value


@pytest.mark.parametrize(
    ("status", "margin", "more"),
    [
        (Status.CERTIFIED, 0.0, {}),
        (Status.CERTIFIED, -0.0, {}),
        (Status.CERTIFIED, -0.1, {}),
        (Status.CERTIFIED, math.nan, {}),
        (Status.CERTIFIED, -math.inf, {}),
        (Status.FALSIFIED, -0.1, {}),
        (Status.FALSIFIED, 0.0, {"field": FIELD}),
        (Status.FALSIFIED, 0.1, {"field": FIELD}),
        (Status.FALSIFIED, math.nan, {"field": FIELD}),
        (Status.UNKNOWN, -0.1, {}),
        (Status.UNKNOWN, math.nan, {"reason": "a gap"}),
        (Status.MISCLASSIFIED, math.nan, {}),
    ],
)
def test_claims_without_it_are_unsound(status: Status, margin: float, more: Any) -> None:
    with pytest.raises(Unsound):
        made(status, margin, **more)
