"""Linear bounds of margins: known where they are exact, sound everywhere."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from warpcert.core import Unsupported
from warpcert.train import ARCHITECTURES, Ball, Trace, build, linear_reach, worst_logits
from warpcert.train.crown import Form, pull
from warpcert.train.normalise import Normalise


def reaches(module, images, lower, upper, labels):
    """By intervals, and by linear functions."""
    trace = Trace()
    _, reach = worst_logits(module, images, lower, upper, labels, trace)
    return reach, linear_reach(module, trace, labels)


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("radius", [0.01, 0.2])
def test_linear_bounds_hold_for_every_sample(name, radius):
    module = build(name, (3, 16, 16), classes=4).double()
    images, labels = torch.rand(2, 3, 16, 16, dtype=torch.float64), torch.tensor([3, 1])
    lower, upper = Ball(radius)(images)
    with torch.no_grad():
        module(images)
        module.eval()
        _, reach = reaches(module, images, lower, upper, labels)
        assert (reach[torch.arange(2), labels] == 0).all()
        for draw in range(20):
            some = torch.rand_like(images)
            pick = some if draw % 2 else some.round()
            seen = module(lower + pick * (upper - lower))
            margins = seen - seen.gather(1, labels[:, None])
            assert (margins <= reach + 1e-12).all()


def test_they_are_exact_without_unstable_neurons():
    """A narrow box of a trained network is affine almost everywhere: intervals are not exact."""
    module = build("ConvSmall", (1, 16, 16), classes=3).double().eval()
    images, labels = torch.rand(2, 1, 16, 16, dtype=torch.float64), torch.tensor([0, 2])
    lower, upper = images - 1e-7, images + 1e-7
    with torch.no_grad():
        wide, found = reaches(module, images, lower, upper, labels)
    variable = images.clone().requires_grad_()
    seen = module(variable)
    margins = seen - seen.gather(1, labels[:, None])
    for image, label in enumerate(labels.tolist()):
        for k in {0, 1, 2} - {label}:
            (slope,) = torch.autograd.grad(margins[image, k], variable, retain_graph=True)
            exact = margins[image, k] + 1e-7 * slope[image].abs().sum()
            torch.testing.assert_close(found[image, k], exact.detach(), rtol=0, atol=1e-12)
            assert wide[image, k] > exact + 1e-9


def test_one_relu_by_hand():
    """Scores (relu(x), 0) on x in [-1, 3]: the chord above is 3/4 (x + 1), the line below x."""
    module = nn.Sequential(nn.Flatten(), nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 2)).double()
    state = {"1.weight": torch.ones(1, 1), "1.bias": torch.zeros(1)}
    state |= {"3.weight": torch.tensor([[1.0], [0.0]]), "3.bias": torch.zeros(2)}
    module.load_state_dict(state)
    lower, upper = (torch.full((2, 1, 1, 1), x, dtype=torch.float64) for x in (-1.0, 3.0))
    _, found = reaches(module, lower, lower, upper, torch.tensor([1, 0]))
    assert found[0].tolist() == [3.0, 0.0]  # relu(x) - 0 is at most 3
    assert found[1].tolist() == [0.0, 1.0]  # 0 - relu(x), by the line of slope 1, at most 1
    lower = lower * 4  # [-4, 3]: the line below has slope 0
    _, found = reaches(module, lower, lower, upper, torch.tensor([1, 0]))
    assert found[0, 0].item() == pytest.approx(3) and found[1, 1].item() == 0


def test_batch_normalisation_is_asked_for_the_same_map_and_not_moved():
    module = build("ResNet", (1, 16, 16), classes=3).double()
    images, labels = torch.rand(6, 1, 16, 16, dtype=torch.float64), torch.tensor([0, 1, 2] * 2)
    point = (images, images)
    with torch.no_grad():
        trace = Trace()
        _, reach = worst_logits(module, images, *point, labels, trace)
        kept = [tensor.clone() for tensor in module.state_dict().values()]
        torch.testing.assert_close(linear_reach(module, trace, labels), reach)  # both are exact
    assert all(a.equal(b) for a, b in zip(kept, module.state_dict().values(), strict=True))


def test_what_is_not_known_is_named():
    form = Form(torch.zeros(1, 1, 2), torch.zeros(1, 1))
    with pytest.raises(Unsupported, match="Sigmoid"):
        pull(nn.Sigmoid(), form, Trace())
    with pytest.raises(Unsupported, match="zeros"):
        pull(nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular"), form, Trace())
    module = nn.Sequential(Normalise(1), nn.Flatten())
    with pytest.raises(ValueError, match="must be Linear, got Flatten"):
        linear_reach(module, Trace(), torch.tensor([0]))
