"""A run learns, and one that was killed ends like one that was not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from warpcert.train import Ball, Deck, Lesson, Recipe, prepare, train

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
