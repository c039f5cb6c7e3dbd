"""`time_runs`: how long a piece of work takes, again and again."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch


def time_runs(
    work: Callable[[], object], device: str, *, runs: int = 1, at_least: float = 0.0
) -> list[float]:
    """Seconds of every run, after one to warm up.

    There are as many `runs` as asked for, and more until they took `at_least` so many seconds
    together. A GPU has finished its work when its clock is read.
    """
    _wait(device, work)
    taken: list[float] = []
    while len(taken) < max(runs, 1) or sum(taken) < at_least:
        start = time.perf_counter()
        _wait(device, work)
        taken.append(time.perf_counter() - start)
    return taken


def _wait(device: str, work: Callable[[], object]) -> None:
    """Do some work to its end."""
    work()
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
