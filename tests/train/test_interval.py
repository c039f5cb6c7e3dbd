"""Interval propagation: exact on one layer, sound on all, in training and in eval mode."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

from warpcert.core import Unsupported
from warpcert.train import ARCHITECTURES, Ball, Bundle, build, propagate, worst_logits
from warpcert.train.batchnorm import BatchNorm
from warpcert.train.normalise import Normalise
from warpcert.train.residual import Residual


def box(*shape):
    """Clean values, lower and upper ends in float64, the clean ones not in the middle."""
    lower = torch.randn(*shape, dtype=torch.float64)
    upper = lower + torch.rand_like(lower)
    return lower + 0.3 * (upper - lower), lower, upper


def test_a_linear_layer_by_hand():
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": torch.tensor([[2.0, -3.0]]), "bias": torch.tensor([0.5])})
    lower, upper = torch.tensor([[0.0, 1.0]]), torch.tensor([[1.0, 2.0]])
    found = propagate(layer, Bundle.around(torch.tensor([[0.5, 1.0]]), lower, upper))
    assert found.lower.item() == 2 * 0 - 3 * 2 + 0.5
    assert found.upper.item() == 2 * 1 - 3 * 1 + 0.5
    assert found.clean.item() == 2 * 0.5 - 3 * 1 + 0.5


def test_a_convolution_by_hand():
    layer = nn.Conv2d(1, 1, 2, stride=2, padding=1, bias=False)
    layer.load_state_dict({"weight": torch.tensor([[[[1.0, -2.0], [4.0, -8.0]]]])})
    lower = torch.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
    found = propagate(layer, Bundle.around(lower, lower, lower + 1))
    # only the corner of the kernel that lies on the image counts, the rest meets the padding
    assert found.lower.flatten().tolist() == [-8.0, 4.0, -6.0, 3.0]
    assert found.upper.flatten().tolist() == [0.0, 8.0, -4.0, 4.0]


def test_a_relu_by_hand():
    lower, upper = torch.tensor([[-2.0, -2.0, 1.0]]), torch.tensor([[-1.0, 3.0, 2.0]])
    found = propagate(nn.ReLU(), Bundle.around((lower + upper) / 2, lower, upper))
    assert found.lower.tolist() == [[0.0, 0.0, 1.0]]
    assert found.upper.tolist() == [[0.0, 3.0, 2.0]]


def test_normalisation_by_hand():
    layer = Normalise(1)
    layer.fit(torch.tensor([1.0, 3.0, 5.0]).reshape(3, 1, 1, 1))  # mean 3, deviation 2
    x = torch.full((1, 1, 1, 1), 5.0)
    found = propagate(layer, Bundle.around(x, x - 2, x + 4))
    assert (found.lower.item(), found.clean.item(), found.upper.item()) == (0.0, 1.0, 3.0)


def corners(lower, upper):
    """All corners (2^n, ...) of one small box."""
    flat = torch.stack([lower.flatten(), upper.flatten()])
    for choice in itertools.product((0, 1), repeat=flat.shape[1]):
        yield flat[list(choice), range(flat.shape[1])].reshape(lower.shape)


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(2, 3, (2, 2), (1, 1), (1, 0)),
        nn.Conv2d(2, 4, 2, groups=2),
        nn.Conv2d(2, 2, 2, padding=1, dilation=2),
        BatchNorm(2),
        Normalise(2),
        nn.Sequential(nn.Flatten(), nn.Linear(8, 3)),
    ],
)
def test_an_affine_layer_is_exact(layer):
    layer = layer.double().eval()
    for tensor in layer.state_dict().values():
        if tensor.is_floating_point():
            tensor.uniform_(0.5, 2.0)
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    clean, lower, upper = box(1, 2, 2, 2)
    found = propagate(layer, Bundle.around(clean, lower, upper))
    with torch.no_grad():
        values = layer(torch.cat(list(corners(lower, upper))))
        torch.testing.assert_close(found.clean, layer(clean))
    torch.testing.assert_close(found.lower[0], values.amin(0))
    torch.testing.assert_close(found.upper[0], values.amax(0))


@pytest.mark.parametrize("stride", [1, 2])
def test_a_residual_block_adds_both_ways(stride):
    block = Residual(3, 3, stride).double().eval()
    clean, lower, upper = box(2, 3, 4, 4)
    bundle = Bundle.around(clean, lower, upper)
    found = propagate(block, bundle)
    body, skip = propagate(block.body, bundle), propagate(block.skip, bundle)
    torch.testing.assert_close(found.lower, body.lower + skip.lower)
    torch.testing.assert_close(found.upper, body.upper + skip.upper)
    torch.testing.assert_close(found.clean, block(clean))


def test_batch_normalisation_uses_the_clean_statistics_and_keeps_them():
    ours, theirs = BatchNorm(2), nn.BatchNorm2d(2)
    clean, lower, upper = (x.float() for x in box(4, 2, 3, 3))
    found = propagate(ours, Bundle.around(clean, lower, upper))
    torch.testing.assert_close(found.clean, theirs(clean))
    for name, tensor in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], tensor)
    variance, mean = torch.var_mean(clean, (0, 2, 3), correction=0, keepdim=True)
    torch.testing.assert_close(found.upper, (upper - mean) / (variance + 1e-5).sqrt())


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("radius", [0.02, 0.3])
def test_worst_logits_bound_the_corners(name, radius):
    module = build(name, (3, 16, 16), classes=4).double()
    images, labels = torch.rand(2, 3, 16, 16, dtype=torch.float64), torch.tensor([3, 1])
    lower, upper = Ball(radius)(images, 0.5)
    assert lower.min() >= 0 and upper.max() <= 1 and (upper - lower).max() <= radius * 1.001
    with torch.no_grad():
        module(images)
        module.eval()
        scores, reach = worst_logits(module, images, lower, upper, labels)
        torch.testing.assert_close(scores, module(images))
        assert (reach[torch.arange(2), labels] == 0).all()
        for draw in range(20):
            some = torch.rand_like(images)
            pick = some if draw % 2 else some.round()  # also corners of the box
            seen = module(lower + pick * (upper - lower))
            margins = seen - seen.gather(1, labels[:, None])
            assert (margins <= reach + 1e-12).all()


def test_worst_logits_are_attained_without_hidden_layers():
    module = nn.Sequential(Normalise(1), nn.Flatten(), nn.Linear(4, 3)).double()
    _, lower, upper = box(1, 1, 2, 2)
    _, reach = worst_logits(module, lower, lower, upper, torch.tensor([1]))
    seen = module(torch.cat(list(corners(lower, upper))))
    torch.testing.assert_close(reach[0], (seen - seen[:, 1:2]).amax(0))


def test_a_layer_that_is_not_known_is_named():
    clean, lower, upper = box(1, 2)
    with pytest.raises(Unsupported, match="Sigmoid"):
        propagate(nn.Sigmoid(), Bundle.around(clean, lower, upper))
    circular = nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular").double()
    with pytest.raises(Unsupported, match="zeros"):
        propagate(circular, Bundle.around(*box(1, 1, 4, 4)))
    images = torch.rand(1, 1, 2, 2)
    with pytest.raises(ValueError, match="must be Linear, got Flatten"):
        worst_logits(nn.Sequential(nn.Flatten()), images, images, images, torch.tensor([0]))
