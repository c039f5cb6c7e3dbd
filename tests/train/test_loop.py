"""A run learns, and one that was killed ends like one that was not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from warpcert.train import Attack, Ball, Deck, Lesson, Recipe, prepare, train
from warpcert.train.loop import _Run
from warpcert.train.optimiser import make_optimiser, restore, set_rate
from warpcert.train.step import weight_sizes

RECIPE = Recipe(epochs=4, batch=16, seed=3)


def states(module):
    return list(module.state_dict().values())


def test_loss_falls_and_images_become_certified(lesson, tmp_path):
    module = prepare("ConvSmall", lesson.training, 3, seed=0)
    entries = list(train(module, lesson, replace(RECIPE, epochs=12), tmp_path))
    assert [entry.epoch for entry in entries] == list(range(12))
    assert entries[-1].loss < 0.5 * entries[0].loss
    assert entries[-1].strength == 1 and entries[-1].kappa == 0.5
    assert entries[-1].correct == entries[-1].all == 12 and entries[-1].certified >= 10
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["loss"] for line in lines] == [entry.loss for entry in entries]


@pytest.mark.parametrize("name", ["ConvSmall", "ResNet"])
def test_resumed_is_unbroken(name, deck, tmp_path, monkeypatch):
    monkeypatch.setattr("warpcert.train.loop._PAUSE", 0.0)
    small = Deck(deck.images[:, :, ::2, ::2].contiguous(), deck.labels)
    lesson = Lesson(small.take(slice(0, 48)), small.take(slice(48, None)), Ball(0.1))
    recipe = replace(RECIPE, augmented=True)
    whole = prepare(name, small, 3, seed=0)
    entries = list(train(whole, lesson, recipe, tmp_path / "whole"))

    run = train(prepare(name, small, 3, seed=0), lesson, recipe, tmp_path / "broken")
    next(run), next(run)
    run.close()  # killed after two epochs
    with (tmp_path / "broken" / "log.jsonl").open("a") as log:
        log.write('{"epoch": 2')  # in the middle of a line
    again = prepare(name, small, 3, seed=9)
    rest = list(train(again, lesson, recipe, tmp_path / "broken"))
    assert [entry.epoch for entry in rest] == [2, 3]
    assert [entry.loss for entry in rest] == [entry.loss for entry in entries[2:]]
    assert all(a.equal(b) for a, b in zip(states(whole), states(again), strict=True))
    lines = (tmp_path / "broken" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [0, 1, 2, 3]
    assert not list(train(again, lesson, recipe, tmp_path / "broken"))


def test_the_seed_decides(lesson, tmp_path):
    found = []
    for number, seed in enumerate((1, 1, 2)):
        module = prepare("ConvSmall", lesson.training, 3, seed=0)
        list(train(module, lesson, replace(RECIPE, epochs=1, seed=seed), tmp_path / str(number)))
        found.append(module.get_parameter("8.weight"))
    assert found[0].equal(found[1]) and not found[0].equal(found[2])


def test_every_epoch_has_an_order_of_its_own(lesson, tmp_path):
    """Also where the seeds of two runs are neighbours, like two epochs of one run."""
    orders = []
    for seed in (0, 1):
        module = prepare("ConvSmall", lesson.training, 3, seed=0)
        run = _Run(module, lesson, replace(RECIPE, seed=seed), tmp_path, True)
        for epoch in (0, 1, 2):
            generator = run.generator(epoch)
            which = torch.cat([draw.which for draw in run.draws(epoch, generator)])
            assert sorted(which.tolist()) == list(range(48))
            orders.append(tuple(which.tolist()))
    assert len(set(orders)) == 6


def test_dials_follow_the_schedule_step_by_step(lesson, tmp_path):
    module = prepare("ConvSmall", lesson.training, 3, seed=0)
    recipe = replace(RECIPE, rate=0.25, loss="mtl-ibp", augmented=True)
    run = _Run(module, lesson, recipe, tmp_path, True)
    dials = torch.cat([run.dials(epoch) for epoch in range(4)])
    moments = [recipe.schedule.at(k / 12) for k in range(12)]
    assert dials[:, 0].tolist() == pytest.approx([m.strength for m in moments])
    assert dials[:, 1].tolist() == pytest.approx([m.kappa for m in moments])
    assert dials[:, 2].tolist() == pytest.approx([m.beta for m in moments])
    assert dials[:, 3].tolist() == pytest.approx([m.rate / 4 for m in moments])
    draws = list(run.draws(1, run.generator(1)))
    moves = [draw.moves for draw in draws if draw.moves is not None]
    shifts = [draw.shifts for draw in draws if draw.shifts is not None]
    for found in (moves, shifts):
        assert len({tuple(one.flatten().tolist()) for one in found}) == 3
    assert all(one.abs().max() <= 1 for one in moves)


def test_a_resumed_clock_goes_on(lesson, tmp_path, monkeypatch):
    monkeypatch.setattr("warpcert.train.loop._PAUSE", 0.0)
    seconds = iter(range(0, 1_000_000, 10))
    monkeypatch.setattr("warpcert.train.loop.time.monotonic", lambda: float(next(seconds)))
    run = train(prepare("ConvSmall", lesson.training, 3, 0), lesson, RECIPE, tmp_path)
    first = [next(run), next(run)]
    run.close()
    seconds = iter(range(0, 1_000_000, 10))  # another day, another clock
    again = train(prepare("ConvSmall", lesson.training, 3, 0), lesson, RECIPE, tmp_path)
    rest = list(again)
    assert 0 < first[0].seconds < first[1].seconds < rest[0].seconds < rest[1].seconds


def test_a_run_stops_in_time_and_goes_on(lesson, tmp_path):
    whole = prepare("ConvSmall", lesson.training, 3, seed=0)
    list(train(whole, lesson, RECIPE, tmp_path / "whole"))
    broken = prepare("ConvSmall", lesson.training, 3, seed=0)
    runs = 0
    finished = False
    while not finished:
        run = train(broken, lesson, RECIPE, tmp_path / "broken", seconds=1e-3)
        found, finished = exhaust(run)
        assert len(found) <= 1  # no time for more than one epoch, and none is lost
        runs += 1
        assert runs < 9
    assert runs >= 4
    assert all(a.equal(b) for a, b in zip(states(whole), states(broken), strict=True))


def exhaust(run):
    """What a generator yields, and what it returns."""
    found = []
    while True:
        try:
            found.append(next(run))
        except StopIteration as end:
            return found, end.value


@pytest.mark.parametrize("loss", ["pgd", "mtl-ibp", "sabr", "crown-ibp"])
def test_resumed_is_unbroken_for_every_loss(lesson, tmp_path, monkeypatch, loss):
    monkeypatch.setattr("warpcert.train.loop._PAUSE", 0.0)
    recipe = replace(RECIPE, epochs=2, loss=loss, l1=1e-4, attack=Attack(2, 0.5))
    whole = prepare("ConvSmall", lesson.training, 3, seed=0)
    list(train(whole, lesson, recipe, tmp_path / "whole"))
    run = train(prepare("ConvSmall", lesson.training, 3, 0), lesson, recipe, tmp_path / "broken")
    next(run)
    run.close()
    again = prepare("ConvSmall", lesson.training, 3, seed=5)
    list(train(again, lesson, recipe, tmp_path / "broken"))
    assert all(a.equal(b) for a, b in zip(states(whole), states(again), strict=True))


def test_the_state_of_a_recorded_optimiser_goes_on_without_recording():
    """A GPU keeps the rate and the clock as tensors; a CPU wants them as they always were."""
    layer = torch.nn.Linear(2, 2)
    recorded = torch.optim.Adam(layer.parameters(), lr=torch.tensor(0.5), capturable=True)
    state = recorded.state_dict()
    state["state"] = {
        k: {"step": torch.tensor(7.0), "exp_avg": torch.ones(s), "exp_avg_sq": torch.ones(s)}
        for k, s in enumerate([(2, 2), (2,)])
    }
    plain = make_optimiser(layer, 0.25)
    restore(plain, state)
    (group,) = plain.param_groups
    assert group["lr"] == 0.25 and not group["capturable"]
    set_rate(plain, torch.tensor(0.125))
    layer(torch.ones(1, 2)).sum().backward()
    plain.step()
    assert group["lr"] == 0.125
    assert all(plain.state[p]["step"] == 8 for p in layer.parameters())


def test_weights_grow_small_under_their_own_weight(lesson, tmp_path):
    sizes = []
    for l1 in (0.0, 0.1):
        module = prepare("ConvSmall", lesson.training, 3, seed=0)
        list(train(module, lesson, replace(RECIPE, l1=l1), tmp_path / str(l1)))
        sizes.append(float(weight_sizes(module).detach()))
    assert sizes[1] < 0.8 * sizes[0]
    layer = torch.nn.Linear(2, 1)
    layer.load_state_dict({"weight": torch.tensor([[2.0, -3.0]]), "bias": torch.tensor([7.0])})
    assert weight_sizes(layer).item() == 5


def test_other_settings_and_damage_are_refused(lesson, tmp_path):
    module = prepare("ConvSmall", lesson.training, 3, seed=0)
    list(train(module, lesson, replace(RECIPE, epochs=1), tmp_path))
    with pytest.raises(ValueError, match="other settings"):
        list(train(module, lesson, RECIPE, tmp_path))
    other = prepare("ConvMed", lesson.training, 3, seed=0)
    with pytest.raises(ValueError, match="another architecture"):
        list(train(other, lesson, replace(RECIPE, epochs=1), tmp_path))
    (tmp_path / "checkpoint.pt").write_bytes(b"not torch")
    with pytest.raises(ValueError, match="not a readable checkpoint"):
        list(train(module, lesson, RECIPE, tmp_path))


def test_divergence_is_said(lesson, tmp_path):
    module = prepare("ConvSmall", lesson.training, 3, seed=0)
    with torch.no_grad():
        module.get_parameter("8.weight").fill_(float("nan"))
    with pytest.raises(ArithmeticError, match="diverged in epoch 0"):
        list(train(module, lesson, RECIPE, tmp_path))


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"batch": 0}, {"seed": -1}, {"rate": 0.0}])
def test_misuse(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        Recipe(**{"epochs": 1, **wrong})
