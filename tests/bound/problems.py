"""Networks and input sets to bound: small, and each with something that could go wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.flow.pictures import draw, picture
from tests.net.modules import Written
from warpcert import Box, DeformedImage, InputSet, Interval, Network, Threat, warp
from warpcert.net import Activation, Step
from warpcert.net.linear import Linear
from warpcert.net.relu import Relu
from warpcert.net.reshape import Reshape

DOUBLE = torch.float64
SIDE, CLASSES, BATCH, SALT = 5, 3, 2, 5
NOISE = 1e-12
"""Float64 noise of evaluating one of these networks, relative to the largest value of a layer:
at most six layers of sums of a hundred terms, each off by 2**-53 of its size."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What a bounder is asked, and members of the input set (n, B, C, H, W) to try answers on."""

    network: Network
    inputs: InputSet
    rows: Tensor
    members: Tensor

    @cached_property
    def values(self) -> list[Tensor]:
        """What the network makes of the members (n, B, ...), step by step."""
        found = self.network.values(self.members.flatten(0, 1))
        return [x.unflatten(0, self.members.shape[:2]) for x in found]

    @property
    def margins(self) -> Tensor:
        """The members' margins (n, B, S)."""
        return (self.rows @ self.values[-1][..., None]).squeeze(-1)


# Networks. The argument is the number of channels.


def conv_relu(channels: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(channels, 3, 3), nn.ReLU(), nn.Conv2d(3, 4, 2), nn.ReLU(), *head(16)
    )


def head(size: int) -> tuple[nn.Module, ...]:
    return nn.Flatten(), nn.Linear(size, 6), nn.ReLU(), nn.Linear(6, CLASSES)


def between(act: nn.Module) -> Callable[[int], nn.Module]:
    """A convolution and two matrices, with an activation after each but the last."""
    return lambda channels: nn.Sequential(
        nn.Conv2d(channels, 2, 3, 2), act, nn.Flatten(), nn.Linear(8, 5), act, nn.Linear(5, CLASSES)
    )


class Function(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def residual(channels: int) -> nn.Module:
    """Skips around activations, of values that have a bias, and of the input."""

    def forward(m: Any, x: Tensor) -> Tensor:
        y = m.one(x)
        y = y + 2 * F.relu(y)
        z = m.two(F.relu(y)) + y
        return m.head((F.relu(z) - y + m.three(x)).flatten(1))

    return Written(
        forward,
        one=nn.Conv2d(channels, 2, 3, 2),
        two=nn.Conv2d(2, 2, 3, 1, 1),
        three=nn.Conv2d(channels, 2, 2, 2, bias=False),
        head=nn.Linear(8, CLASSES),
    )


def three_ways(channels: int) -> nn.Module:
    """A value that three others use, with a weight each, and two activations on one value."""

    def forward(m: Any, x: Tensor) -> Tensor:
        y = F.relu(m.one(x.flatten(1)))
        z = torch.cat([m.two(y) - 3 * y, y, F.relu(m.two(y)) + y.tanh()], 1)
        return m.head(z) + z[:, :CLASSES]

    return Written(
        forward,
        one=nn.Linear(channels * SIDE**2, 4),
        two=nn.Linear(4, 4),
        head=nn.Linear(12, CLASSES),
    )


def concat(channels: int) -> nn.Module:
    def forward(m: Any, x: Tensor) -> Tensor:
        y = m.one(x)
        z = torch.cat([F.relu(y), y, y.sigmoid(), m.two(x).abs()], 1)
        return m.head(F.leaky_relu(z, 0.1).flatten(1))

    return Written(
        forward,
        one=nn.Conv2d(channels, 2, 3, 2),
        two=nn.Conv2d(channels, 1, 2, 3),
        head=nn.Linear(7 * 4, CLASSES),
    )


def on_the_input(channels: int) -> nn.Module:
    """Activations of the image itself, before anything affine."""

    def forward(m: Any, x: Tensor) -> Tensor:
        return m.head(torch.cat([x.square(), F.relu(x), (x - 0.5).abs(), x.tanh()], 1).flatten(1))

    return Written(forward, head=nn.Linear(4 * channels * SIDE**2, CLASSES))


def normalised(channels: int) -> nn.Module:
    """A shift before a padded convolution, which must stay, and strides that leave a rest."""
    return nn.Sequential(
        Function(lambda x: (x - 0.3) / 0.25),
        nn.Conv2d(channels, 2, 2, 2, 1, bias=False),
        nn.BatchNorm2d(2),
        nn.ReLU(),
        nn.Conv2d(2, 4, (1, 2), (2, 1), dilation=(1, 2), groups=2),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.AvgPool2d((2, 1)),
        nn.Flatten(),
        nn.Linear(4, CLASSES),
    )


MODULES: dict[str, Callable[[int], nn.Module]] = {
    "affine": lambda c: nn.Sequential(
        nn.Conv2d(c, 2, 2, 2, 1), nn.AvgPool2d(2, 1), nn.Flatten(), nn.Linear(8, CLASSES)
    ),
    "relu": conv_relu,
    "leaky": between(nn.LeakyReLU(0.2)),
    "steep": between(nn.LeakyReLU(2.5)),
    "sigmoid": between(nn.Sigmoid()),
    "tanh": between(nn.Tanh()),
    "abs": between(Function(torch.abs)),
    "square": between(Function(torch.square)),
    "max pooling": lambda c: nn.Sequential(
        nn.Conv2d(c, 2, 2), nn.MaxPool2d(2), nn.ReLU(), *head(8)
    ),
    "residual": residual,
    "three ways": three_ways,
    "concat": concat,
    "normalised": normalised,
    "on the input": on_the_input,
    "dead": conv_relu,
    "stable": conv_relu,
    "constant": conv_relu,
}

# Input sets. Radii are such that about half of the neurons are open.


def boxes() -> Box:
    """Of several widths; some pixels are points."""
    centre = picture("random", 1, SIDE, SIDE, seed=3, batch=BATCH)
    radius = 0.2 * torch.rand(centre.shape, dtype=DOUBLE, generator=draw(4))
    radius[:, :, 1::2, ::3] = 0
    return Box(Interval(centre - radius, centre + radius))


def bent(channels: int, threat: Threat, kind: str = "random") -> Callable[[], DeformedImage]:
    return lambda: DeformedImage(picture(kind, channels, SIDE, SIDE, seed=7, batch=BATCH), threat)


SETS: dict[str, Callable[[], InputSet]] = {
    "box": boxes,
    "Tinf": bent(1, Threat("inf", 0.2)),
    "T2 far": bent(1, Threat(2, 1.3), "quantised"),
    "T1 colour": bent(3, Threat(1, 0.3)),
    "T2 colour": bent(3, Threat(2, 0.2)),
    "Tinf colour": bent(3, Threat("inf", 0.2)),
    "smooth": bent(1, Threat("inf", 0.4, 0.1)),
    "smooth inside": bent(1, Threat(1, 0.5, 0.2, "inside")),
    "smooth colour": bent(3, Threat(2, 0.3, 0.05)),
}

NAMES = [
    *(f"{name} on box" for name in MODULES),
    *(f"affine on {name}" for name in ("Tinf", "T1 colour", "T2 colour", "smooth colour")),
    "relu on Tinf",
    "relu on T2 far",
    "relu on Tinf colour",
    "relu on smooth inside",
    "stable on T1 colour",
    "stable on smooth",
    "leaky on T1 colour",
    "abs on smooth",
    "residual on T2 colour",
    "residual on smooth",
    "three ways on Tinf colour",
    "on the input on T2 colour",
    "max pooling on smooth colour",
]


@cache
def problem(name: str) -> Problem:
    """The problem of a name such as "relu on box"."""
    network_name, _, set_name = name.rpartition(" on ")
    inputs = SETS[set_name]()
    network = made(network_name, inputs.box.lower.shape[1])
    random = torch.randn((BATCH, 2, CLASSES), dtype=DOUBLE, generator=draw(11))
    margins = torch.tensor([[1.0, -1.0, 0.0], [1.0, 0.0, -1.0]], dtype=DOUBLE).expand(BATCH, -1, -1)
    rows = torch.cat([margins, random], dim=1)
    return Problem(network, inputs, rows, members(network, inputs, rows))


@cache
def made(name: str, channels: int) -> Network:
    with torch.random.fork_rng():
        torch.manual_seed(sum(map(ord, name)) + SALT)
        module = MODULES[name](channels).to(DOUBLE)
        for part in module.modules():
            if isinstance(part, nn.BatchNorm2d):
                assert part.running_mean is not None and part.running_var is not None
                part.running_mean.normal_()
                part.running_var.uniform_(0.5, 2)
            if isinstance(part, nn.BatchNorm2d | nn.Conv2d | nn.Linear):
                strengthen(part)
        adjust(name, module)
        return Network.from_module(module.eval(), (channels, SIDE, SIDE))


def strengthen(part: nn.BatchNorm2d | nn.Conv2d | nn.Linear) -> None:
    """Numbers of about 1, so that neurons are open and biases count."""
    width = part.weight[0].numel()
    nn.init.normal_(part.weight, std=1.5 / width**0.5)
    if part.bias is not None:
        nn.init.normal_(part.bias, std=0.5)


def adjust(name: str, module: nn.Module) -> None:
    """Neurons that are dead, or whose sign is known, or of no consequence."""
    *hidden, last = (part for part in module.modules() if isinstance(part, nn.Conv2d | nn.Linear))
    with torch.no_grad():
        for part, size in zip(hidden, (8.0, 80.0, 900.0), strict=False):
            if name in ("dead", "stable"):
                assert part.bias is not None
                part.bias -= size
                part.bias[::2] += 2 * size if name == "stable" else 0
    if name == "constant":
        nn.init.zeros_(last.weight)


# Members


def members(network: Network, inputs: InputSet, rows: Tensor) -> Tensor:
    """Extreme members and random ones, and those that a descent on the rows arrives at."""
    if isinstance(inputs, DeformedImage):
        fields = inputs.threat.sample((SIDE, SIDE), 48, generator=draw(1))
        count = len(inputs.images)
        some = [warp(inputs.images, field.expand(count, -1, -1, -1)) for field in fields]
        if inputs.threat.gamma < math.inf:
            return torch.stack(some)
    else:
        low, high = inputs.box.lower, inputs.box.upper
        shares = torch.rand((32, *low.shape), dtype=DOUBLE, generator=draw(2))
        shares[2::2] = shares[2::2].round()  # corners
        shares[0], shares[1] = 0, 1
        some = list(torch.clamp(low + shares * (high - low), low, high))
    return torch.stack(some + descended(network, inputs, rows))


def descended(network: Network, inputs: InputSet, rows: Tensor) -> list[Tensor]:
    """Members with low values of the rows: each is the least of the set for a gradient."""
    low, high = inputs.box.lower, inputs.box.upper
    x = ((low + high) / 2)[:, None].expand(-1, rows.shape[1], -1, -1, -1)
    found: list[Tensor] = []
    for _ in range(3):
        x = x.detach().requires_grad_()
        scores = network(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        (slopes,) = torch.autograd.grad((rows * scores).sum(), x)
        asked = slopes.requires_grad_()
        (x,) = torch.autograd.grad(inputs.minimise(asked).bound.sum(), asked)
        found += x.clamp(low[:, None], high[:, None]).unbind(1)
    return found


def slack(x: Tensor) -> float:
    """What the noise of evaluating values of this size may be."""
    return NOISE * (1 + float(x.abs().max()))


# Networks written by hand


def layered(
    *layers: tuple[Sequence[Sequence[float]], Sequence[float] | None],
    activation: Activation | None = None,
) -> Network:
    """Matrices and biases with ReLUs (or others) between them, for images (1, 1, n)."""
    size = len(layers[0][0][0])
    steps = [Step(Reshape((1, 1, size), (size,)), (0,), (size,))]
    for number, (weight, bias) in enumerate(layers):
        matrix = torch.tensor(weight, dtype=DOUBLE)
        out = (matrix.shape[0],)
        offset = None if bias is None else torch.tensor(bias, dtype=DOUBLE)
        node = Linear(matrix, offset, (matrix.shape[1],))
        steps.append(Step(node, (len(steps),), out))
        if number < len(layers) - 1:
            steps.append(Step(activation or Relu(), (len(steps),), out))
    return Network((1, 1, size), tuple(steps))


def between_points(lower: Sequence[float], upper: Sequence[float]) -> Box:
    """The box of images (1, 1, 1, n) between two."""
    ends = (torch.tensor(x, dtype=DOUBLE).reshape(1, 1, 1, -1) for x in (lower, upper))
    return Box(Interval(*ends))
