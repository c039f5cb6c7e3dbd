"""A recorded step does what the step does; only a GPU can say."""

from __future__ import annotations

import math

import pytest
import torch

from warpcert.train import OBJECTIVES, Attack, Ball, Bending, Lesson, Recipe, prepare, train

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("threat", [Ball(0.05), Bending(math.inf, 0.5)], ids=lambda t: t.title)
@pytest.mark.parametrize("loss", OBJECTIVES)
def test_recorded_and_eager_learn_the_same(deck, tmp_path, loss, threat):
    on_gpu = deck.to("cuda")
    lesson = Lesson(on_gpu.take(slice(0, 48)), on_gpu.take(slice(48, None)), threat)
    recipe = Recipe(epochs=6, batch=16, loss=loss, attack=Attack(2, 0.5), regulariser=0.1)
    found = []
    for eager in (False, True):
        module = prepare("ConvSmall", on_gpu, 3, seed=0).cuda()
        folder = tmp_path / str(eager)
        found.append([entry.loss for entry in train(module, lesson, recipe, folder, eager=eager)])
    assert found[0] == pytest.approx(found[1], rel=0.02)


@pytest.mark.parametrize("arch", ["ConvSmall", "ResNet"])
def test_a_seed_repeats_the_run(deck, tmp_path, arch):
    on_gpu = deck.to("cuda")
    lesson = Lesson(on_gpu.take(slice(0, 48)), on_gpu.take(slice(48, None)), Bending(math.inf, 0.5))
    recipe = Recipe(epochs=6, batch=16, loss="mtl-ibp", attack=Attack(2, 0.5), augmented=True)
    found = []
    for number in range(2):
        module = prepare(arch, on_gpu, 3, seed=0).cuda()
        list(train(module, lesson, recipe, tmp_path / str(number)))
        found.append([tensor.clone() for tensor in module.state_dict().values()])
    assert all(a.equal(b) for a, b in zip(*found, strict=True))
