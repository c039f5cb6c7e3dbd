"""check_proof: proofs hold when other code looks at them, and broken ones do not."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import warpcert as wc
from tests.flow.pictures import picture
from tests.verify.test_complete import drawn, made
from warpcert import Network, Status, Threat, Unsupported, Verdict
from warpcert.verify import Proof, check_proof
from warpcert.verify.branch.proof import BOUNDED, CUT, PLANTED, Leaf

Case = tuple[Network, Tensor, int, Threat, Proof]


def prove(network: Network, image: Tensor, threat: Threat) -> tuple[Verdict, int]:
    label = int(network(image[None]).argmax())
    verdict = wc.certify(network, image, label, threat, "complete", timeout=20, proof=True)
    assert isinstance(verdict, Verdict)
    return verdict, label


SEEDS = (16, 33, 53, 62, 80)
"""Of these some proofs have cuts, others leaves."""


def cases() -> list[Case]:
    """Proofs with cuts and with leaves."""
    found: list[Case] = []
    for seed in SEEDS:
        norm, (delta, gamma) = (1, 2, "inf")[seed % 3], ((0.3, math.inf), (0.4, 0.02))[seed % 2]
        network = made(drawn(seed, 16, (9, 6)), (1, 4, 4))
        image = picture("random", 1, 4, 4, seed=seed)[0]
        threat = Threat(norm, delta, gamma)  # type: ignore[arg-type]
        verdict, label = prove(network, image, threat)
        assert verdict.status is Status.CERTIFIED and isinstance(verdict.proof, Proof)
        found.append((network, image, label, threat, verdict.proof))
    return found


@pytest.fixture(scope="module")
def proofs() -> list[Case]:
    return cases()


def test_proofs_are_checked_by_other_code(proofs: list[Case], tmp_path: Path) -> None:
    fates = {fate for *_, proof in proofs for fate in proof.fates}
    assert fates == {CUT, BOUNDED, PLANTED}
    assert any(len(proof.leaves) > 3 for *_, proof in proofs)
    for number, (network, image, label, threat, proof) in enumerate(proofs):
        assert check_proof(network, image, label, threat, proof) > 0
        path = tmp_path / f"{number}.npz"
        proof.save(path)
        again = Proof.load(path)
        assert check_proof(network, image, label, threat, again) > 0
        assert again.fates == proof.fates and len(again.leaves) == len(proof.leaves)


def first(proofs: list[Case], fate: int, leaves: int = 0) -> Case:
    """A proof with such a cell and, if asked for, leaves without which it would not hold."""
    for network, image, label, threat, proof in proofs:
        if fate not in proof.fates or len(proof.leaves) < leaves:
            continue
        found = copy.deepcopy(proof)
        found.leaves = []
        if leaves:
            try:
                check_proof(network, image, label, threat, found)
            except ValueError:
                return network, image, label, threat, copy.deepcopy(proof)
        else:
            return network, image, label, threat, copy.deepcopy(proof)
    raise AssertionError("no such proof")


def test_a_part_that_is_left_out_is_missed(proofs: list[Case]) -> None:
    problem = first(proofs, CUT)
    proof = problem[-1]
    last = len(proof.parents) - 1
    for part in (proof.parents, proof.pixels, proof.begins, proof.ends, proof.fates):
        del part[last]
    with pytest.raises(ValueError, match=r"leave out|left open|cut at 0 pixels"):
        check_proof(*problem)


def test_a_cell_that_is_made_smaller_is_missed(proofs: list[Case]) -> None:
    problem = first(proofs, CUT)
    proof = problem[-1]
    k = len(proof.parents) - 1
    (x, y), (u, v) = proof.begins[k], proof.ends[k]
    proof.begins[k] = (x + 0.1 * (u - x), y + 0.1 * (v - y))
    with pytest.raises(ValueError, match="leave out"):
        check_proof(*problem)


def test_a_cell_that_was_never_closed_is_told(proofs: list[Case]) -> None:
    problem = first(proofs, BOUNDED)
    proof = problem[-1]
    proof.fates[-1] = -1
    with pytest.raises(ValueError, match="was left open"):
        check_proof(*problem)


def test_a_leaf_that_is_left_out_is_missed(proofs: list[Case]) -> None:
    problem = first(proofs, PLANTED, leaves=2)
    proof = problem[-1]
    for drop in range(len(proof.leaves)):
        fewer = copy.copy(proof)
        fewer.leaves = [leaf for k, leaf in enumerate(proof.leaves) if k != drop]
        with pytest.raises(ValueError, match=r"leave signs out|bounded by"):
            check_proof(*problem[:-1], fewer)


def test_decisions_that_were_not_made_do_not_help(proofs: list[Case]) -> None:
    """A leaf's signs turned around: the others no longer cover what it did."""
    problem = first(proofs, PLANTED, leaves=2)
    proof = problem[-1]
    leaf = proof.leaves[0]
    place = int(np.flatnonzero(leaf.signs)[0])
    signs = leaf.signs.copy()
    signs[place] *= -1
    proof.leaves[0] = replace(leaf, signs=signs)
    with pytest.raises(ValueError, match=r"leave signs out|bounded by"):
        check_proof(*problem)


def test_numbers_that_are_none_prove_nothing(proofs: list[Case]) -> None:
    """Nor do they prove more than the plainest slopes and no pulls at all would."""
    problem = first(proofs, PLANTED, leaves=2)
    proof = problem[-1]

    def bound(slope: float, pull: float) -> float:
        proof.leaves = [
            replace(
                leaf,
                slopes=np.full_like(leaf.slopes, slope),
                pulls=np.full_like(leaf.pulls, pull),
            )
            for leaf in proof.leaves
        ]
        try:
            return check_proof(*problem)
        except ValueError:
            return -math.inf

    assert bound(math.nan, math.nan) == bound(0.0, 0.0) == bound(-5.0, -5.0)


def test_a_larger_threat_or_another_label_is_not_proved(proofs: list[Case]) -> None:
    network, image, label, threat, proof = first(proofs, PLANTED)
    with pytest.raises(ValueError, match=r"leave out|bounded by|leave signs out"):
        check_proof(network, image, label, replace(threat, delta=3.0), proof)
    with pytest.raises(ValueError, match=r"bounded by|leave signs out"):
        check_proof(network, image, (label + 1) % 3, threat, proof)


def test_what_is_no_proof_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, a=np.zeros(3))
    with pytest.raises(ValueError, match="is not a proof"):
        Proof.load(path)
    with pytest.raises(ValueError, match="is not a proof"):
        Proof.load(tmp_path / "missing.npz")
    network = made(drawn(0, 16, (5, 4)), (1, 4, 4))
    with pytest.raises(ValueError, match="proof=True is for the methods 'complete' and 'auto'"):
        wc.certify(network, torch.rand(1, 4, 4), 0, Threat(), "alpha", proof=True)
    smooth = Network.from_module(
        torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2), torch.nn.Sigmoid()).eval(),
        (1, 4, 4),
    )
    with pytest.raises(Unsupported, match="ReLUs and their like"):
        check_proof(smooth, torch.rand(1, 4, 4), 0, Threat(), Proof())


def falsifiable() -> tuple[wc.Network, torch.Tensor, wc.Threat]:
    """A margin of 0.5 - x on two pixels, of which the first can reach 1."""
    module = nn.Sequential(nn.Flatten(), nn.Linear(2, 1), nn.ReLU(), nn.Linear(1, 2)).double()
    for parameter, values in zip(
        module.parameters(), ([[1.0, 0.0]], [0.0], [[-1.0], [0.0]], [0.5, 0.0]), strict=True
    ):
        parameter.data = torch.tensor(values, dtype=torch.float64)
    network = wc.Network.from_module(module.eval(), (1, 1, 2))
    return network, torch.tensor([[[0.0, 1.0]]], dtype=torch.float64), wc.Threat("inf", 1.0)


def refused(proof: Proof, words: str) -> None:
    network, image, threat = falsifiable()
    with pytest.raises(ValueError, match=words):
        check_proof(network, image, 0, threat, proof)


def test_a_proof_without_cells_is_refused() -> None:
    refused(Proof([], [], [], [], [], []), "empty")


def test_a_proof_that_is_cut_off_is_refused() -> None:
    proof = Proof()
    ends = torch.ones((1, 2, 2), dtype=torch.float64)
    proof.cut(0, (0, 0), -ends, ends)
    proof.fates = proof.fates[:1]
    refused(proof, "different lengths")


def test_pixels_that_are_none_are_refused() -> None:
    proof = Proof()
    ends = torch.ones((1, 2, 2), dtype=torch.float64)
    proof.cut(0, (0, -1), -ends, ends)
    proof.fates[1] = BOUNDED
    refused(proof, "no pixel")


def one_leaf(number: int, entries: list[int], signs: list[int]) -> Leaf:
    floats = np.zeros(len(entries), dtype=np.float32)
    names = np.full(len(entries), number), np.array(entries)
    return Leaf(0, 0, *names, np.array(signs), floats, floats, floats[:0])


@pytest.mark.parametrize(
    ("entries", "signs", "words"),
    [
        ([0, 0], [1, -1], "twice"),
        ([1], [1], "there is none"),
        ([0], [2], "a sign that is none"),
    ],
)
def test_leaves_that_name_no_neuron_are_refused(
    entries: list[int], signs: list[int], words: str
) -> None:
    network, *_ = falsifiable()
    proof = Proof(fates=[PLANTED], leaves=[one_leaf(network.activations[0], entries, signs)])
    refused(proof, words)


def test_two_leaves_on_different_neurons_are_no_two_sides() -> None:
    # The margin 0.4 - 2 relu(x1 - 0.7) is -0.2 as the image is. Neither "neuron 1 is negative" nor
    # "neuron 0 is positive" holds there, so the two cover nothing.
    module = nn.Sequential(nn.Flatten(), nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 2)).double()
    weights = ([[1.0, 0, 0], [0, 1, 0]], [-0.5, -0.7], [[0.0, -2], [0, 0]], [0.4, 0.0])
    for parameter, values in zip(module.parameters(), weights, strict=True):
        parameter.data = torch.tensor(values, dtype=torch.float64)
    network = wc.Network.from_module(module.eval(), (1, 1, 3))
    image = torch.tensor([[[0.0, 1.0, 0.0]]], dtype=torch.float64)
    number = network.activations[0]
    leaves = [one_leaf(number, [1, 0], [-1, 0]), one_leaf(number, [0, 1], [1, 0])]
    with pytest.raises(ValueError, match="leave signs out"):
        check_proof(
            network, image, 0, wc.Threat("inf", 0.4, 0.0), Proof(fates=[PLANTED], leaves=leaves)
        )
