"""Every loss falls, is what its paper says, and certifies no more than is proved."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

import warpcert as wc
from warpcert.train import (
    OBJECTIVES,
    Attack,
    Ball,
    Batch,
    Bending,
    Deck,
    Lesson,
    Moment,
    Recipe,
    Schedule,
    Trace,
    examine,
    linear_reach,
    measure_accuracy,
    prepare,
    robust_loss,
    train,
    worst_logits,
)
from warpcert.train.export import export
from warpcert.train.objective import shrink

THREATS = [Ball(0.05), Bending(math.inf, 0.4)]
NOW = Moment(strength=0.5, kappa=0.25, beta=0.5, rate=1e-3)


@pytest.fixture(scope="module")
def digits() -> Deck:
    images, labels = wc.load_images("mnist:0-99")
    return Deck((images * 255).round().to(torch.uint8), labels)


@pytest.fixture
def module(digits):
    return prepare("ConvSmall", digits, 10, seed=0)


def batch(deck, threat):
    moves = 2 * torch.rand(threat.moves_shape(deck.images)) - 1
    return Batch(deck.floats(), deck.labels, moves)


@pytest.mark.parametrize("threat", THREATS, ids=lambda t: t.title)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradients_reach_every_weight(digits, name, threat):
    for arch in ("ConvSmall", "ResNet"):
        some = digits.take(slice(0, 4 if arch == "ResNet" else 20))
        module = prepare(arch, digits, 10, seed=0)
        loss = OBJECTIVES[name](Attack(2, 0.5), 0.5)(module, batch(some, threat), threat, NOW)
        loss.backward()
        for label, parameter in module.named_parameters():
            assert parameter.grad is not None, label
            assert parameter.grad.isfinite().all(), label
        assert any(p.grad is not None and bool(p.grad.any()) for p in module.parameters())


STEADY = Schedule(warm=0.0, full=0.0, decay=0.9)  # the same loss from first to last


@pytest.fixture(scope="module")
def learned(digits, tmp_path_factory):
    """The weights of a network that knows the digits: from none, boxes of full size end in none."""
    module = prepare("ConvSmall", digits, 10, seed=0)
    recipe = Recipe(epochs=12, batch=20, rate=2e-3, loss="plain", schedule=STEADY)
    list(train(module, Lesson(digits, digits, Ball(0.0)), recipe, tmp_path_factory.mktemp("plain")))
    return module.state_dict()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_loss_falls_and_what_is_certified_is_proved(digits, learned, name, tmp_path):
    threat = Bending(math.inf, 0.05)
    module = prepare("ConvSmall", digits, 10, seed=0)
    module.load_state_dict(learned)
    recipe = Recipe(
        epochs=6, batch=20, rate=3e-4, loss=name, attack=Attack(2, 0.5), schedule=STEADY
    )
    entries = list(train(module, Lesson(digits, digits, threat), recipe, tmp_path))
    assert entries[-1].loss < 0.8 * entries[0].loss
    assert entries[-1].correct > 60
    if recipe.objective.certifies:
        assert entries[-1].certified > 0

    path = tmp_path / "network.onnx"
    export(module.eval(), (1, 28, 28), path)
    network = wc.load_network(path)
    _, margins = wc.bounds(
        network, digits.floats(), wc.Threat("inf", 0.05), digits.labels, method="interval"
    )
    proved = int((margins > 0).all(1).sum())
    found = examine(network, digits, threat)
    assert found.certified == proved
    assert found.correct == entries[-1].correct
    measured = measure_accuracy(module.double(), digits, threat)
    assert measured.certified <= proved and measured.correct == found.correct
    assert (examine(network, digits, threat, batch=7)) == found


def test_plain_and_ibp_are_known(digits, module):
    threat = THREATS[0]
    some = batch(digits, threat)
    clean = F.cross_entropy(module(some.images), some.labels)
    torch.testing.assert_close(OBJECTIVES["plain"]()(module, some, threat, NOW), clean)
    known = robust_loss(module, some.images, threat(some.images, 0.5), some.labels, 0.25).total
    torch.testing.assert_close(OBJECTIVES["ibp"]()(module, some, threat, NOW), known)


def test_crown_ibp_is_known(digits, module):
    threat = THREATS[1]
    some = batch(digits, threat)
    trace = Trace()
    scores, reach = worst_logits(module, some.images, *threat(some.images, 0.5), some.labels, trace)
    linear = linear_reach(module, trace, some.labels)
    for beta in (0.0, 0.25, 1.0):
        now = Moment(strength=0.5, kappa=0.25, beta=beta, rate=1e-3)
        bound = F.cross_entropy(beta * linear + (1 - beta) * reach, some.labels)
        known = 0.25 * F.cross_entropy(scores, some.labels) + 0.75 * bound
        torch.testing.assert_close(OBJECTIVES["crown-ibp"]()(module, some, threat, now), known)
    assert not torch.allclose(linear, reach)


@pytest.mark.parametrize("threat", THREATS, ids=lambda t: t.title)
def test_attacked_losses_are_known(digits, module, threat):
    attack = Attack(3, 0.5)
    some = batch(digits, threat)
    points = attack(module, some.images, some.labels, threat, some.moves, 0.5)
    box = threat(some.images, 0.5)

    def loss(name, small=0.4):
        return OBJECTIVES[name](attack, 0.0, small)(module, some, threat, NOW)

    torch.testing.assert_close(loss("pgd"), F.cross_entropy(module(points), some.labels))
    known = robust_loss(module, points, box, some.labels, 0.25).total
    torch.testing.assert_close(loss("mtl-ibp"), known)
    torch.testing.assert_close(loss("sabr", 1.0), known)  # the small box is the whole one
    known = robust_loss(module, points, shrink(box, points, 0.4), some.labels, 0.25).total
    torch.testing.assert_close(loss("sabr"), known)
    assert loss("sabr") < loss("mtl-ibp")


@pytest.mark.parametrize("part", [0.01, 0.4, 1.0])
def test_small_boxes_lie_in_the_large_ones(digits, part):
    images = digits.floats()
    lower, upper = Ball(0.3)(images)
    for points in (images, lower, upper, lower + torch.rand_like(images) * (upper - lower)):
        low, high = shrink((lower, upper), points, part)
        assert (lower <= low).all() and (low <= high).all() and (high <= upper).all()
        torch.testing.assert_close(high - low, part * (upper - lower))
        middle = (low + high) / 2
        free = (points - lower > part * 0.3) & (upper - points > part * 0.3)
        torch.testing.assert_close(middle[free], points[free])


@pytest.mark.parametrize("threat", THREATS, ids=lambda t: t.title)
def test_attacks_find_harder_members_and_leave_the_module_alone(digits, threat):
    module = prepare("ResNet", digits, 10, seed=0)
    module(digits.floats()[:20])
    some = batch(digits.take(slice(0, 20)), threat)
    before = [tensor.clone() for tensor in module.state_dict().values()]
    loss = []
    for strength in (0.0, 1.0):
        found = Attack(6, 0.3)(module, some.images, some.labels, threat, some.moves, strength)
        assert module.training and not found.requires_grad
        lower, upper = threat(some.images, strength)
        assert (lower - 1e-6 <= found).all() and (found <= upper + 1e-6).all()
        module.eval()
        loss.append(float(F.cross_entropy(module(found), some.labels).detach()))
        module.train()
    assert loss[1] > loss[0]
    after = module.state_dict().values()
    assert all(a.equal(b) for a, b in zip(before, after, strict=True))
    assert all(parameter.grad is None for parameter in module.parameters())


def test_misuse(digits, module):
    bare = Batch(digits.floats(), digits.labels)
    with pytest.raises(ValueError, match="Pgd needs moves"):
        OBJECTIVES["pgd"]()(module, bare, THREATS[0], NOW)
    for small in (0.0, 1.5):
        with pytest.raises(ValueError, match="small must be"):
            OBJECTIVES["sabr"](small=small)
    with pytest.raises(ValueError, match="regulariser must be"):
        OBJECTIVES["sabr"](regulariser=-1.0)
    for steps, size in ((0, 0.5), (1, 0.0), (1, math.nan)):
        with pytest.raises(ValueError, match="an attack"):
            Attack(steps, size)
