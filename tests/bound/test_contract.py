"""The contract of bounders, kept by each."""

from __future__ import annotations

import pytest

from tests.contract.bounder import BounderContract
from warpcert.bound import Alpha, Ascent, Bounder, DeepPoly, IntervalPropagation


class TestIntervalPropagation(BounderContract):
    substitutes = False

    @pytest.fixture
    def bounder(self) -> Bounder:
        return IntervalPropagation()


class TestDeepPoly(BounderContract):
    @pytest.fixture
    def bounder(self) -> Bounder:
        return DeepPoly()


class TestDeepPolyAlone(BounderContract):
    intersects = False

    @pytest.fixture
    def bounder(self) -> Bounder:
        return DeepPoly(intersect=False)


class TestAlpha(BounderContract):
    repeats = 1e-3  # float32 noise, where a gradient is almost zero, sends the ascent elsewhere

    @pytest.fixture
    def bounder(self) -> Bounder:
        return Alpha(Ascent(iterations=1), Ascent(iterations=4))


def test_a_bounder_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Bounder()  # type: ignore[abstract]
