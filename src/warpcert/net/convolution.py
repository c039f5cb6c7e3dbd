"""Convolution: sliding windows with weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from warpcert.core.shapes import Float
from warpcert.net.affine import Shape
from warpcert.net.single import Single

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Convolution(Single):
    """A 2-d convolution of images (C, H, W), padded with zeros.

    ``weight`` is (O, C / groups, kh, kw), ``bias`` (O,) or None. ``padding`` is
    (top, bottom, left, right).
    """

    weight: Float[Tensor, "O I kh kw"]
    bias: Float[Tensor, "O"] | None
    input: Shape
    stride: Pair = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1

    def __post_init__(self) -> None:
        """Refuse what does not fit together."""
        kernel = tuple(self.weight.shape[2:])
        out, per_group = self.weight.shape[:2]
        if len(self.input) != 3:
            raise ValueError(f"a convolution needs an input (C, H, W), got {self.input}")
        if min(*self.stride, *self.dilation, self.groups, *kernel) < 1 or min(self.padding) < 0:
            raise ValueError(
                "a convolution needs stride, dilation, groups and kernel >= 1 and padding >= 0, "
                f"got {self.stride}, {self.dilation}, {self.groups}, {kernel}, {self.padding}"
            )
        if per_group * self.groups != self.input[0] or out % self.groups:
            raise ValueError(
                f"a convolution with weights {tuple(self.weight.shape)} and {self.groups} groups "
                f"does not fit an input {self.input}"
            )
        if min(self.shape) < 1:
            raise ValueError(f"a kernel {kernel} is larger than its padded input {self._padded}")

    @property
    def shape(self) -> Shape:
        sizes = zip(self._padded, self._reach, self.stride, strict=True)
        return (self.weight.shape[0], *((n - k) // s + 1 for n, k, s in sizes))

    @property
    def offset(self) -> Tensor | None:
        return None if self.bias is None else self.bias[:, None, None]

    @property
    def fan_in(self) -> int:
        return self.weight[0].numel()

    @property
    def fan_out(self) -> int:
        return self.weight[:, 0].numel() // self.groups

    def linear(self, *inputs: Tensor) -> Tensor:
        (x,) = inputs
        return self._slide(x, self.weight)

    def spread(self, *radii: Tensor) -> Tensor:
        (r,) = radii
        return self._slide(r, self._magnitude)

    def adjoint(self, rows: Tensor) -> tuple[Tensor, ...]:
        """The transposed convolution.

        A window that would start beyond the last one has no row: ``output_padding`` gives the
        pixels there their zeros back. What falls on the padding is cut off.
        """
        if self._pointwise:
            return (self._scatter(rows),)
        sizes = zip(self._padded, self._reach, self.stride, strict=True)
        rest = [(n - k) % s for n, k, s in sizes]
        top, bottom, left, right = self.padding
        even = top == bottom and left == right
        x = F.conv_transpose2d(
            rows.flatten(0, 1),
            self.weight,
            stride=self.stride,
            padding=(top, left) if even else 0,
            output_padding=rest,
            groups=self.groups,
            dilation=self.dilation,
        )
        if not even:
            x = F.pad(x, (-left, -right, -top, -bottom))
        return (x.unflatten(0, rows.shape[:2]),)

    @property
    def _pointwise(self) -> bool:
        """Whether it is one matrix at every (strided) place."""
        kernel = tuple(self.weight.shape[2:])
        return kernel == (1, 1) and self.groups == 1 and not any(self.padding)

    def _scatter(self, rows: Tensor) -> Tensor:
        """The transpose of one matrix at every place: zeros between the places."""
        weight = self.weight[:, :, 0, 0]
        small = torch.einsum("oc,brohw->brchw", weight, rows)
        if self.stride == (1, 1):
            return small
        whole = small.new_zeros((*rows.shape[:2], *self.input))
        whole[..., :: self.stride[0], :: self.stride[1]] = small
        return whole

    def _slide(self, x: Tensor, weight: Tensor) -> Tensor:
        if self._pointwise:
            x = x[:, :, :: self.stride[0], :: self.stride[1]]
            return torch.einsum("oc,bchw->bohw", weight[:, :, 0, 0], x)
        top, bottom, left, right = self.padding
        padding = (top, left)
        if top != bottom or left != right:
            x, padding = F.pad(x, (left, right, top, bottom)), (0, 0)
        return F.conv2d(x, weight, None, self.stride, padding, self.dilation, self.groups)

    @cached_property
    def _magnitude(self) -> Tensor:
        return self.weight.abs()

    @property
    def _padded(self) -> Pair:
        top, bottom, left, right = self.padding
        return self.input[1] + top + bottom, self.input[2] + left + right

    @property
    def _reach(self) -> Pair:
        """Height and width of a window, the gaps of its dilation included."""
        (kh, kw), (dh, dw) = self.weight.shape[2:], self.dilation
        return dh * (kh - 1) + 1, dw * (kw - 1) + 1
