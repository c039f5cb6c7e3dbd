"""fast_arithmetic: a GPU may multiply with fewer digits, in training alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.backends import cudnn


@contextmanager
def fast_arithmetic(allowed: bool) -> Iterator[None]:
    """Multiply float32 matrices in TF32, and convolve in the same way every time, for a while.

    Nothing that decides a verdict may run in here: TF32 has ten bits behind the point. (For
    convolutions torch allows it by default, in here or not.) Convolutions chosen by trial, or
    summed in whatever order, would be faster by a little, and no seed would repeat a run.
    """
    if not allowed:
        yield
        return
    precision = torch.get_float32_matmul_precision()
    trial, always = cudnn.benchmark, cudnn.deterministic
    torch.set_float32_matmul_precision("high")
    cudnn.benchmark, cudnn.deterministic = False, True
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(precision)
        cudnn.benchmark, cudnn.deterministic = trial, always
