"""How much of a batch fits into memory at once."""

from __future__ import annotations

import os

import torch


def free_bytes(device: torch.device) -> int:
    """Bytes that can be had on the device now: free and cached on a GPU, available on a CPU."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return free + cached
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not every system tells
        return 1 << 30


def chunk_size(item_bytes: int, device: torch.device, share: float = 0.25) -> int:
    """How many items of ``item_bytes`` fit into a share of the free memory; at least one."""
    return max(1, int(share * free_bytes(device)) // max(1, item_bytes))
