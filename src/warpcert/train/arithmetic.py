"""fast_arithmetic: a GPU may multiply with fewer digits, in training alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.backends import cudnn


@contextmanager
def fast_arithmetic(allowed: bool) -> Iterator[None]:
    """Multiply float32 matrices in TF32, and choose convolutions by trial, for a while.

    Nothing that decides a verdict may run in here: TF32 has ten bits behind the point. (For
    convolutions torch allows it by default, in here or not.)
    """
    if not allowed:
        yield
        return
    precision, trial = torch.get_float32_matmul_precision(), cudnn.benchmark
    torch.set_float32_matmul_precision("high")
    cudnn.benchmark = True
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(precision)
        cudnn.benchmark = trial
