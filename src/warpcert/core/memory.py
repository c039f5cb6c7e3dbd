"""How much of a batch fits into memory at once."""

from __future__ import annotations

import os
import re

import torch

CACHED_BYTES = 1 << 27
"""Working memory of a chunk on a CPU. Measured: a quarter and four times as much are slower."""

OURS = 0.95
"""How much of a GPU's memory all processes together take; what drives it needs some, too."""


def free_bytes(device: torch.device) -> int:
    """Bytes that can be had on the device now: free and cached on a GPU, available on a CPU.

    Of a GPU no more than this process's share, see `claim_share`.
    """
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        # Asked a thousand times a minute: memory_allocated makes a flat table of all statistics.
        known = torch.cuda.memory_stats_as_nested_dict(device)
        taken = known["allocated_bytes"]["all"]["current"] if known else 0
        cached = known["reserved_bytes"]["all"]["current"] - taken if known else 0
        share = torch.cuda.get_per_process_memory_fraction(_number(device))
        return max(0, min(free + cached, int(share * total) - taken))
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not every system tells
        return 1 << 30


def gpu_bytes(device: torch.device) -> int:
    """The same on a GPU, none elsewhere."""
    return free_bytes(device) if device.type == "cuda" else 0


def claim_share(device: torch.device, processes: int) -> None:
    """Let this process have its part of a GPU that as many use; a CPU's memory is shared freely."""
    if device.type == "cuda":
        torch.cuda.set_per_process_memory_fraction(OURS / processes, _number(device))


def chunk_size(item_bytes: int, device: torch.device, share: float = 0.25) -> int:
    """How many items of ``item_bytes`` to treat at once; at least one.

    They fit into a share of the free memory; on a CPU no more than is likely to be in its cache
    when it is needed again.
    """
    budget = int(share * free_bytes(device))
    if device.type == "cpu":
        budget = min(budget, CACHED_BYTES)
    return max(1, budget // max(1, item_bytes))


SHORTAGE = re.compile(r"alloc|(cublas|cudnn|cusolver|cusparse)\w*create")
"""What errors say, in small letters, when memory ran out and torch does not tell: a library that
finds no room for its own needs fails as it is set up, with whatever error it has."""


def is_shortage(error: Exception) -> bool:
    """Whether an error says that memory ran out, on a GPU or a CPU."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and bool(SHORTAGE.search(str(error).lower()))


def release(device: torch.device) -> None:
    """Give back what torch keeps for itself on a GPU."""
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _number(device: torch.device) -> int:
    """Which GPU "cuda" is."""
    return torch.cuda.current_device() if device.index is None else device.index
