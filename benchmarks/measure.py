"""Seconds and memory, measured the same way everywhere."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from warpcert.experiments.measure.stopwatch import time_runs


def seconds(work: Callable[[], object], device: str, at_least: float = 0.5) -> float:
    """The fastest of several runs, after one to warm up; of a single one if that takes long."""
    return min(time_runs(work, device, at_least=at_least))


def peak(work: Callable[..., object], arguments: Sequence[Any], small: Sequence[Any]) -> float:
    """MiB that a call adds to a fresh process at its peak, after a small call to warm up."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak, (work, arguments, small))


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """p of the power law cost ~ size**p that fits best."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def _peak(work: Callable[..., object], arguments: Sequence[Any], small: Sequence[Any]) -> float:
    work(*small)
    try:
        Path("/proc/self/clear_refs").write_text("5")  # Linux: forget the peak so far
        before = _status("VmRSS")
        work(*arguments)
        return (_status("VmHWM") - before) / 1024
    except OSError:
        return math.nan


def _status(key: str) -> int:
    """A figure of this process, in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1])
