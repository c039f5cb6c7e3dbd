"""Pooling: max pooling as gathers and ReLUs, average pooling as two matrices."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.net import arithmetic
from warpcert.net.average import AveragePool
from warpcert.net.builder import Builder, Value, check_size
from warpcert.net.supported import Refused


@dataclass(frozen=True)
class Windows:
    """The windows along one axis: entry t of window i stands at i * stride - before + t * dilation.

    With ``ceil`` a last window may hang over the end, if it starts inside or on the padding
    before it.
    """

    length: int
    kernel: int
    stride: int
    before: int = 0
    after: int = 0
    dilation: int = 1
    ceil: bool = False

    def __post_init__(self) -> None:
        """Refuse windows that make no sense."""
        if min(self.kernel, self.stride, self.dilation) < 1 or min(self.before, self.after) < 0:
            raise ValueError(
                f"pooling needs kernel, stride, dilation >= 1 and padding >= 0: {self}"
            )
        if self.count < 1:
            raise ValueError(f"a pooling window is larger than its input: {self}")
        check_size((self.count, max(self.kernel, self.length)))

    @property
    def count(self) -> int:
        """How many windows there are."""
        reach = self.dilation * (self.kernel - 1) + 1
        room = self.length + self.before + self.after - reach
        if not self.ceil:
            return room // self.stride + 1
        count = -(-room // self.stride) + 1
        return count - 1 if self.drops_last else count

    @property
    def drops_last(self) -> bool:
        """Whether a window is left out because it would start behind the end, on padding."""
        reach = self.dilation * (self.kernel - 1) + 1
        room = self.length + self.before + self.after - reach
        return self.ceil and -(-room // self.stride) * self.stride >= self.length + self.before

    @property
    def places(self) -> Tensor:
        """Where each entry of each window stands, (count, kernel); outside: < 0 or >= length."""
        first = torch.arange(self.count) * self.stride - self.before
        return first[:, None] + self.dilation * torch.arange(self.kernel)


def max_pool(b: Builder, x: Value, rows: Windows, columns: Windows) -> Value:
    """The maximum over windows of (C, H, W): along rows, then along columns, exactly."""
    if len(x.shape) != 3:
        raise ValueError(f"max pooling needs an input (C, H, W), got {x.shape}")
    return _largest(b, _largest(b, x, 2, columns), 1, rows)


def _largest(b: Builder, x: Value, axis: int, windows: Windows) -> Value:
    """The maximum over windows along one axis, as a tree of max(a, b) = a + relu(b - a).

    Padding counts as minus infinity, so an entry outside is replaced by one of the same window
    that is inside: this changes no maximum, and no infinity enters the network.
    """
    places = windows.places
    inside = (places >= 0) & (places < windows.length)
    if not bool(inside.any(1).all()):
        raise Refused("a window that lies on the padding alone has no maximum")
    first = places.gather(1, inside.int().argmax(1, keepdim=True))
    table = torch.where(inside, places, first)
    entries = [arithmetic.take(b, x, axis, column) for column in table.T]
    while len(entries) > 1:
        pairs = zip(entries[::2], entries[1::2], strict=False)
        odd = entries[-1:] if len(entries) % 2 else []
        entries = [arithmetic.maximum(b, one, other) for one, other in pairs] + odd
    return entries[0]


def average_pool(b: Builder, x: Value, rows: Windows, columns: Windows, count_pad: bool) -> Value:
    """The mean over windows of (C, H, W); the padding counts, as zeros, if ``count_pad``."""
    weights = [averages(windows, count_pad) for windows in (rows, columns)]
    return b.affine(AveragePool(weights[0], weights[1], x.shape), x)


def averages(windows: Windows, count_pad: bool) -> Tensor:
    """The weights (count, length) of the entries in each window's mean along one axis.

    An entry that hangs over the end of the padding is never counted.
    """
    places = windows.places
    inside = (places >= 0) & (places < windows.length)
    counted = (places < windows.length + windows.after) if count_pad else inside
    if not bool(inside.any(1).all()) and not count_pad:
        raise Refused("a window that lies on the padding alone has no mean")
    weights = torch.zeros(windows.count, windows.length, dtype=torch.float64)
    share = inside / counted.sum(1, keepdim=True).to(torch.float64)
    return weights.scatter_add(1, places.clamp(0, windows.length - 1), share)


def adaptive_averages(length: int, count: int) -> Tensor:
    """The weights (count, length) of adaptive pooling: window i is [i n / m, (i + 1) n / m)."""
    weights = torch.zeros(count, length, dtype=torch.float64)
    for i in range(count):
        start, end = i * length // count, -(-(i + 1) * length // count)
        weights[i, start:end] = 1 / (end - start)
    return weights
