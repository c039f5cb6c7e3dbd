"""Modules as people write them, small enough to test quickly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SHAPE = (2, 8, 7)
FLAT = 2 * 8 * 7


class Written(nn.Module):
    """A module with a given forward; its parts are attributes."""

    def __init__(self, forward: Callable[[Any, Tensor], Tensor], **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self.written = forward

    def forward(self, x: Tensor) -> Tensor:
        return self.written(self, x)


class Residual(nn.Module):
    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.one = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.norm = nn.BatchNorm2d(out)
        self.two = nn.Conv2d(out, out, 3, 1, 1)
        self.short = nn.Sequential(nn.Conv2d(channels, out, 1, stride), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm(self.one(x)), inplace=True)
        return torch.relu(self.two(y) + self.short(x))


def sequential(*parts: nn.Module) -> nn.Module:
    return nn.Sequential(*parts)


def functional(*functions: Callable[[Tensor], Tensor]) -> nn.Module:
    """Functions of images side by side, then a matrix."""

    def together(x: Tensor) -> Tensor:
        return torch.cat([function(x).flatten(1) for function in functions], 1)

    size = together(torch.ones(1, *SHAPE)).shape[1]
    return Written(lambda m, x: m.head(together(x)), head=nn.Linear(size, 3))


def pointwise(*functions: Callable[[Tensor], Tensor]) -> nn.Module:
    """Functions side by side between two matrices."""
    return Written(
        lambda m, x: m.two(torch.cat([f(m.one(x.flatten(1))) for f in functions], 1)),
        one=nn.Linear(FLAT, 6),
        two=nn.Linear(6 * len(functions), 3),
    )


def conv_small() -> nn.Module:
    return sequential(
        nn.Conv2d(2, 4, 4, 2),
        nn.ReLU(),
        nn.Conv2d(4, 5, 2, 2),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        nn.Linear(5, 6),
        nn.ReLU(),
        nn.Linear(6, 3),
    )


def nested() -> nn.Module:
    inner = nn.Sequential(nn.Linear(FLAT, 5), nn.Sequential(nn.Dropout(0.5), nn.ReLU()))
    return sequential(nn.Flatten(), inner, nn.Identity(), nn.Linear(5, 3))


def normalised() -> nn.Module:
    """Normalisation before a padded convolution, which must not be folded."""

    def forward(m: Any, x: Tensor) -> Tensor:
        x = (x - torch.tensor([0.3, -0.2], dtype=x.dtype).view(1, 2, 1, 1)) / 0.25
        return m.head(m.conv(x).relu().mean((2, 3)))

    return Written(forward, conv=nn.Conv2d(2, 4, 3, 1, 1), head=nn.Linear(4, 3))


def depthwise() -> nn.Module:
    return sequential(
        nn.Conv2d(2, 4, (3, 2), (2, 1), (0, 1), (1, 2), groups=2),
        nn.BatchNorm2d(4),
        nn.LeakyReLU(0.1),
        nn.AdaptiveAvgPool2d((2, 3)),
        nn.Flatten(),
        nn.BatchNorm1d(24),
        nn.Linear(24, 3),
    )


def branches() -> nn.Module:
    def forward(m: Any, x: Tensor) -> Tensor:
        a, b = m.one(x).relu(), m.two(x).tanh()
        y = torch.cat([a, b, a - 2 * b], dim=1)
        return m.head(y[:, 1::2, 2:, -3:].reshape(x.shape[0], -1))

    return Written(
        forward, one=nn.Conv2d(2, 3, 3), two=nn.Conv2d(2, 3, 3), head=nn.Linear(4 * 4 * 3, 3)
    )


def tokens() -> nn.Module:
    """Matrices along an axis of images, from the right and from the left."""

    def forward(m: Any, x: Tensor) -> Tensor:
        y = m.inner(x.flatten(2)).sigmoid()
        y = torch.ones(3, 2, dtype=x.dtype) @ y
        return m.head(y.permute(0, 2, 1).contiguous().view(-1, 15))

    return Written(forward, inner=nn.Linear(56, 5), head=nn.Linear(15, 3))


MODULES: dict[str, Callable[[], nn.Module]] = {
    "mlp": lambda: sequential(nn.Flatten(), nn.Linear(FLAT, 8), nn.ReLU(), nn.Linear(8, 3)),
    "matrix alone": lambda: sequential(nn.Flatten(), nn.Linear(FLAT, 3, bias=False)),
    "two matrices": lambda: sequential(nn.Flatten(), nn.Linear(FLAT, 4), nn.Linear(4, 3)),
    "convsmall": conv_small,
    "nested": nested,
    "normalised": normalised,
    "depthwise": depthwise,
    "branches": branches,
    "tokens": tokens,
    "residual": lambda: sequential(
        Residual(2, 4, 2), Residual(4, 4, 1), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(16, 3)
    ),
    "max pooling": lambda: functional(
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.max_pool2d(x - 5, 3, 2, 1),  # padding must not count as 0
        lambda x: F.max_pool2d(x, (3, 2), (2, 1), (1, 0), (2, 3)),
        lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    ),
    "average pooling": lambda: functional(
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        lambda x: F.avg_pool2d(x, (2, 3), ceil_mode=True),
        lambda x: F.adaptive_avg_pool2d(x, 1),
        lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
    ),
    "pooling over the end": lambda: functional(
        lambda x: F.max_pool2d(x, 3, 3, 1, ceil_mode=True),
        lambda x: F.avg_pool2d(x, 3, 3, 1, ceil_mode=True),
        lambda x: F.avg_pool2d(x, 3, 3, 1, ceil_mode=True, count_include_pad=False),
    ),
    "means and sums": lambda: functional(
        lambda x: x.mean(2),
        lambda x: x.mean((1, 3), keepdim=True),
        lambda x: x.sum(1, keepdim=True),
        lambda x: x + x.mean(1, keepdim=True),
    ),
    "padding": lambda: functional(
        lambda x: F.pad(x, (1, 0, 2, 1), value=0.3), lambda x: F.pad(x, (0, 1, 0, 0, 2, -1))
    ),
    "padding, then convolution": lambda: Written(
        lambda m, x: m.conv(F.pad(x, (1, 0, 2, 1))).mean((2, 3)), conv=nn.Conv2d(2, 3, 3, 2)
    ),
    "choices": lambda: functional(
        lambda x: x.flip(3)[:, 1],
        lambda x: x[:, :, [3, 0, 0]],
        lambda x: x[:, 0, 2:-1:2, -3],
        lambda x: x.chunk(2, 2)[1] - x.split(4, 2)[0],
        lambda x: x.index_select(3, torch.tensor([5, 1])),
    ),
    "shapes": lambda: functional(
        lambda x: x.view(x.size(0), -1),
        lambda x: x.view(-1, 8, 14).tanh(),
        lambda x: x.reshape(len(x), 14, -1)[:, :3],
        lambda x: x.transpose(1, 3),
        lambda x: x[:, :1].squeeze(1).unsqueeze(2),
        lambda x: x[:, :, :1].expand(-1, -1, 3, -1),
        lambda x: x[:, :1] * torch.tensor([1.0, -2.0], dtype=x.dtype).view(2, 1, 1),
        lambda x: torch.flatten(x, 2).permute(0, 2, 1),
    ),
    "relus": lambda: pointwise(
        F.relu,
        torch.relu,
        lambda x: x.relu(),
        lambda x: (2 * x).relu_(),
        lambda x: F.relu(x + 0.1, inplace=True),
        F.leaky_relu,
        lambda x: F.leaky_relu(x, 3.0),
        lambda x: x.relu() + x.relu().add(x, alpha=-2),
    ),
    "clamps": lambda: pointwise(
        F.relu6,
        lambda x: x.clamp(-0.2, 0.3),
        lambda x: x.clamp(min=-0.1),
        lambda x: x.clamp(max=0.1),
        lambda x: F.hardtanh(x, -0.3, 0.1),
        F.hardtanh,
        lambda x: torch.maximum(x, -2 * x),
        lambda x: torch.minimum(-x, 3 * x),
        lambda x: torch.minimum(x, torch.ones(6).to(x) / 5),
    ),
    "curves": lambda: pointwise(
        torch.sigmoid,
        torch.tanh,
        torch.square,
        torch.abs,
        lambda x: x * x,
        lambda x: x**2,
        lambda x: (x * x + 1).log(),
    ),
    "numbers": lambda: pointwise(
        lambda x: (1 - 0.3 * x) / 4.7 + 3 - x,
        lambda x: -x + torch.arange(6).to(x),
        lambda x: F.dropout(x, training=False),
        lambda x: x.contiguous().clone() - 0.1,
    ),
}


def ready(name: str, dtype: torch.dtype = torch.float64) -> nn.Module:
    """A module in eval mode with running statistics that are not trivial."""
    module = MODULES[name]().to(dtype)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            assert part.running_mean is not None and part.running_var is not None
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
            nn.init.normal_(part.weight)
            nn.init.normal_(part.bias)
    return module.eval()
