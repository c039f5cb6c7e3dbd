"""What every Attack promises.

A new attack's test is a class that inherits this one and says, in the fixture `attack`, how it is
made; see `tests/attacks/test_contract.py`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.attacks.problems import FEW, NAMES, THREATS, Problem, layered, problem
from warpcert import Box
from warpcert.attacks import Attack, Attacked

DOUBLE = torch.float64
REPEATS = 1e-3
"""How far margins may move when float32 sums are taken in another order."""


class AttackContract:
    """The tests; every one asks for the fixture `attack`."""

    @pytest.fixture
    def attack(self) -> Attack:
        raise NotImplementedError("an attack's test says how the attack is made")

    # What is handed out

    @pytest.mark.parametrize("name", NAMES)
    def test_members_with_their_margins(self, attack: Attack, name: str) -> None:
        asked, found = problem(name), attacked(attack, name)
        assert found.parameters.dtype == DOUBLE
        if isinstance(asked.inputs, Box):
            assert bool(asked.inputs.interval.contains(found.parameters).all())
        else:
            assert bool(THREATS[name].contains(found.parameters).all())
        scores = asked.network(asked.inputs.realise(found.parameters))
        for k, label in enumerate(asked.labels.tolist()):
            others = [x for c, x in enumerate(scores[k].tolist()) if c != label]
            margin = float(scores[k, label]) - max(others)
            assert float(found.margins[k]) == pytest.approx(margin, abs=1e-12)
            assert float(scores[k, found.rivals[k]]) == max(others)
            assert bool(found.fooled[k]) == (margin < -1e-12)

    @pytest.mark.parametrize("name", NAMES)
    def test_never_worse_than_the_image_itself(self, attack: Attack, name: str) -> None:
        asked, found = problem(name), attacked(attack, name)
        plain = asked.inputs.realise(asked.inputs.sample(1)[:, 0])
        assert bool((found.margins <= margins(asked, plain) + 1e-5).all())

    def test_an_image_that_is_misclassified_is_fooled(self, attack: Attack) -> None:
        asked = problem("inf inf clamp")
        wrong = (asked.labels + 1) % 4
        assert bool(attack(asked.network, asked.inputs, wrong).fooled.all())

    # Networks that say little

    @pytest.mark.parametrize("name", ["box", "inf inf clamp", "inf 0.05 clamp"])
    def test_a_network_that_does_not_look(self, attack: Attack, name: str) -> None:
        bias = torch.tensor([1.0, 0.25, -1.0], dtype=DOUBLE)
        network = layered((2, 6, 5), (torch.zeros((3, 60), dtype=DOUBLE), bias))
        found = attack(network, problem(name).inputs, torch.tensor([0, 1, 2]))
        assert found.margins.tolist() == [0.75, -0.75, -2.0]
        assert found.rivals.tolist() == [1, 0, 0]
        assert found.fooled.tolist() == [False, True, True]

    def test_a_tie_fools_nobody(self, attack: Attack) -> None:
        network = layered((2, 6, 5), (torch.ones((2, 60), dtype=DOUBLE), None))
        found = attack(network, problem("inf inf clamp").inputs, torch.tensor([0, 1, 0]))
        assert not bool(found.fooled.any())

    def test_scores_that_are_no_numbers(self, attack: Attack) -> None:
        weight = torch.full((3, 60), math.inf, dtype=DOUBLE)
        weight[0] = -math.inf
        network = layered((2, 6, 5), (weight * 0, None))
        found = attack(network, problem("inf inf clamp").inputs, torch.tensor([0, 1, 2]))
        assert not bool(found.fooled.any())
        assert bool((found.margins == math.inf).all())

    # Independence

    @pytest.mark.parametrize("name", FEW)
    def test_the_same_seed_finds_the_same(self, attack: Attack, name: str) -> None:
        asked, before = problem(name), torch.get_rng_state()
        seeded = torch.Generator().manual_seed(0)
        again = attack(asked.network, asked.inputs, asked.labels, seeded)
        assert torch.equal(again.parameters, attacked(attack, name).parameters)
        assert torch.equal(again.margins, attacked(attack, name).margins)
        assert torch.equal(torch.get_rng_state(), before)

    @pytest.mark.parametrize("name", FEW)
    def test_images_are_attacked_one_by_one(self, attack: Attack, name: str) -> None:
        asked, together = problem(name), attacked(attack, name)
        for k in range(len(asked.labels)):
            one = torch.tensor([k])
            alone = attack(asked.network, asked.inputs.select(one), asked.labels[one])
            assert_same(alone.margins, together.margins[one])

    @pytest.mark.parametrize("name", ["inf 0.05 clamp"])
    def test_small_parts_find_the_same(
        self, attack: Attack, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        together, asked = attacked(attack, name), problem(name)
        monkeypatch.setattr("warpcert.core.memory.free_bytes", lambda device: 1)
        found = attack(asked.network, asked.inputs, asked.labels)
        assert_same(found.margins, together.margins)

    def test_gradients_may_be_switched_off(self, attack: Attack) -> None:
        name = "1 0.05 inside"
        asked = problem(name)
        with torch.no_grad():
            found = attack(asked.network, asked.inputs, asked.labels)
        assert torch.equal(found.parameters, attacked(attack, name).parameters)
        assert not found.parameters.requires_grad and not found.margins.requires_grad

    @pytest.mark.parametrize("name", ["box", "inf inf clamp"])
    def test_float32_networks_are_tested_with_their_own_numbers(
        self, attack: Attack, name: str
    ) -> None:
        asked = problem(name)
        small = asked.network.to(dtype=torch.float32)
        found = attack(small, asked.inputs, asked.labels)
        exact = replace(asked, network=small.to(dtype=DOUBLE))
        wanted = margins(exact, asked.inputs.realise(found.parameters))
        torch.testing.assert_close(found.margins, wanted, rtol=0, atol=1e-12)


_KNOWN: dict[tuple[Attack, str], Attacked] = {}


def attacked(attack: Attack, name: str) -> Attacked:
    """What an attack finds, once."""
    if (attack, name) not in _KNOWN:
        asked = problem(name)
        _KNOWN[attack, name] = attack(asked.network, asked.inputs, asked.labels)
    return _KNOWN[attack, name]


def margins(asked: Problem, images: Tensor) -> Tensor:
    scores = asked.network(images)
    own = scores.gather(1, asked.labels[:, None]).squeeze(1)
    return own - scores.scatter(1, asked.labels[:, None], -math.inf).amax(1)


def assert_same(one: Tensor, other: Tensor) -> None:
    assert float((one - other).abs().max()) <= REPEATS
