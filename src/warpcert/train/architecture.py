"""build: network architectures by name.

ConvSmall, ConvMed and ConvBig are those of the paper's experiments. Its ResNet has four residual
blocks of 16, 16, 32 and 64 filters and "108k neurons"; with a first convolution of 16 filters, the
strides 1, 1, 2, 2 and a hidden layer of 1,000 there are

    16 * 32^2  (first)  +  4 * 16 * 32^2  +  2 * 32 * 16^2  +  2 * 64 * 8^2  +  1,000  =  107,496

ReLUs on 32 x 32 images, which is that number. Cnn7 is the network of the certified-training
literature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor, nn

from warpcert.train.batchnorm import BatchNorm
from warpcert.train.normalise import Normalise
from warpcert.train.residual import Residual

Shape = tuple[int, int, int]


def build(name: str, input_shape: Shape, classes: int = 10) -> nn.Sequential:
    """A new network of this name for images (C, H, W), in training mode, with torch's weights.

    Its first layer is `Normalise`, its last a linear one with a score for each class.
    """
    if name not in ARCHITECTURES:
        raise ValueError(
            f"no architecture is named {name!r}: use one of {', '.join(ARCHITECTURES)}"
        )
    if len(input_shape) != 3 or min(input_shape) < 1:
        raise ValueError(f"input_shape must be (C, H, W), got {input_shape!r}")
    if classes < 2:
        raise ValueError(f"classes must be at least 2, got {classes}")
    channels = input_shape[0]
    features, hidden = ARCHITECTURES[name](channels)
    layers = [Normalise(channels), *features, nn.Flatten()]
    return nn.Sequential(*layers, *_head(_width(layers, input_shape), hidden, classes))


def count_relus(module: nn.Module, input_shape: Shape) -> int:
    """How many ReLUs one image (C, H, W) goes through."""
    found: list[int] = []

    def note(_module: nn.Module, _inputs: object, output: Tensor) -> None:
        found.append(output[0].numel())

    handles = [
        part.register_forward_hook(note) for part in module.modules() if isinstance(part, nn.ReLU)
    ]
    was_training = module.training
    try:
        with torch.no_grad():
            module.eval()(torch.zeros(1, *input_shape))
    finally:
        module.train(was_training)
        for handle in handles:
            handle.remove()
    return sum(found)


Layers = list[nn.Module]
Plan = Callable[[int], tuple[Layers, tuple[int, ...]]]
"""From an image's channels to the layers before the flattening, and the hidden widths after it."""


def _conv(inputs: int, outputs: int, size: int, stride: int = 1, padding: int = 0) -> Layers:
    return [nn.Conv2d(inputs, outputs, size, stride, padding), nn.ReLU()]


def _normed(inputs: int, outputs: int, stride: int = 1) -> Layers:
    convolution = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
    return [convolution, BatchNorm(outputs), nn.ReLU()]


def _small(channels: int) -> tuple[Layers, tuple[int, ...]]:
    return [*_conv(channels, 16, 4, 2), *_conv(16, 32, 4, 2)], (100,)


def _medium(channels: int) -> tuple[Layers, tuple[int, ...]]:
    return [*_conv(channels, 16, 4, 2, 1), *_conv(16, 32, 4, 2, 1)], (1000,)


def _big(channels: int) -> tuple[Layers, tuple[int, ...]]:
    first = [*_conv(channels, 32, 3, 1, 1), *_conv(32, 32, 4, 2, 1)]
    return [*first, *_conv(32, 64, 3, 1, 1), *_conv(64, 64, 4, 2, 1)], (512, 512)


def _resnet(channels: int) -> tuple[Layers, tuple[int, ...]]:
    layers, inputs = _normed(channels, 16), 16
    for outputs, stride in ((16, 1), (16, 1), (32, 2), (64, 2)):
        layers += [Residual(inputs, outputs, stride), nn.ReLU()]
        inputs = outputs
    return layers, (1000,)


def _seven(channels: int) -> tuple[Layers, tuple[int, ...]]:
    first = [*_normed(channels, 64), *_normed(64, 64), *_normed(64, 128, 2)]
    return [*first, *_normed(128, 128), *_normed(128, 128)], (512,)


ARCHITECTURES: Mapping[str, Plan] = MappingProxyType(
    {
        "ConvSmall": _small,
        "ConvMed": _medium,
        "ConvBig": _big,
        "ResNet": _resnet,
        "Cnn7": _seven,
    }
)


def _head(width: int, hidden: tuple[int, ...], classes: int) -> Layers:
    layers: Layers = []
    for units in hidden:
        layers += [nn.Linear(width, units), nn.ReLU()]
        width = units
    return [*layers, nn.Linear(width, classes)]


def _width(layers: Layers, input_shape: Shape) -> int:
    """How many numbers the flattening leaves; images too small for a convolution are refused."""
    module = nn.Sequential(*layers).eval()
    try:
        with torch.no_grad():
            width = math.prod(module(torch.zeros(1, *input_shape)).shape[1:])
    except RuntimeError:
        raise ValueError(f"images {input_shape} are too small for this architecture") from None
    module.train()
    return width
