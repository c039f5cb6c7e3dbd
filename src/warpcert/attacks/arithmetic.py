"""full_precision: how attacks compute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.backends import cudnn


@contextmanager
def full_precision() -> Iterator[None]:
    """With gradients, in whole float32, and the same every time.

    NVIDIA's library stays as it is: torch's own convolutions, which would come instead, treat one
    image after the other.
    """
    with (
        torch.enable_grad(),
        cudnn.flags(enabled=cudnn.enabled, benchmark=False, deterministic=True, allow_tf32=False),
    ):
        yield
