"""LinearProgram: the contract of bounders, and where it stands among them on real networks."""

from __future__ import annotations

import pytest
import torch

import warpcert as wc
from tests.contract.bounder import BounderContract
from warpcert import Box, Interval, Threat
from warpcert.bound import Bounder, DeepPoly, IntervalPropagation, margin_rows
from warpcert.solve import Polyhedral, Tighten, minimise_rows
from warpcert.verify import Relaxation, relax
from warpcert.verify.programs import LinearProgram, Setting

DOUBLE = torch.float64


class TestLinearProgram(BounderContract):
    @pytest.fixture
    def bounder(self) -> Bounder:
        return LinearProgram(before=DeepPoly())
