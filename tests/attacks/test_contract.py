"""Every attack keeps the contract."""

from __future__ import annotations

import pytest

from tests.contract.attack import AttackContract
from warpcert.attacks import (
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

ATTACKS = {
    "search": Search(tries=20),
    "projected gradient": ProjectedGradient(steps=4, restarts=2, tries=4),
    "projected gradient with targets": ProjectedGradient(steps=3, restarts=1, targets=2),
    "frank-wolfe": FrankWolfe(steps=4, restarts=2, tries=4),
    "linearised": Linearised(steps=2, restarts=2, tries=4, dual_steps=10),
    "through the box": ThroughBox(ProjectedGradient(steps=4, restarts=2, tries=4)),
    "through the box, onwards": ThroughBox(ProjectedGradient(steps=4, restarts=1), onwards=True),
    "adef": ADef(steps=3, targets=2),
    "stadv": StAdv(steps=4, restarts=2),
    "cascade": Cascade((Search(tries=10), ProjectedGradient(steps=3, restarts=1))),
}


class TestAttacks(AttackContract):
    @pytest.fixture(params=list(ATTACKS))
    def attack(self, request: pytest.FixtureRequest) -> Attack:
        return ATTACKS[request.param]
