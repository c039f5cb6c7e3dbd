"""Axes: from arrays with a batch axis to the shapes of one image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from warpcert.net.builder import Value
from warpcert.net.supported import Refused


def axis(dim: int, x: Value) -> int:
    """An axis of the batched array (negative: from the end) as an axis of one image's part."""
    rank = 1 + len(x.shape)
    if not -rank <= dim < rank:
        raise Refused(f"there is no axis {dim} in an array of {rank} axes")
    if dim % rank == 0:
        raise Refused("it acts on the batch axis")
    return dim % rank - 1


def order(dims: Sequence[int], x: Value) -> tuple[int, ...]:
    """An order of all axes of the batched array, as one of the axes of one image's part."""
    rank = 1 + len(x.shape)
    if len(dims) != rank or dims[0] % rank != 0:
        raise Refused("it moves the batch axis")
    return tuple(axis(dim, x) for dim in dims[1:])


def unbatched(numbers: Any, x: Value) -> Tensor:
    """Constants that meet a batched array, without their batch axis."""
    if not isinstance(numbers, Tensor):
        numbers = torch.tensor(np.asarray(numbers, np.float64))
    tensor: Tensor = numbers.detach().to("cpu", torch.float64)
    rank = 1 + len(x.shape)
    if tensor.dim() < rank:
        return tensor
    if tensor.dim() > rank or tensor.shape[0] != 1:
        raise Refused("constants that differ along the batch axis")
    return tensor[0]
