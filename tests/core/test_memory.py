"""memory: chunks are never empty and follow what is free."""

from __future__ import annotations

import pytest
import torch

from warpcert.core.errors import Unsound
from warpcert.core.memory import chunk_size, free_bytes, is_shortage

CPU = torch.device("cpu")


def test_there_is_some_memory() -> None:
    assert free_bytes(CPU) > 1 << 20


@pytest.mark.parametrize(
    ("free", "item", "size"),
    [(4000, 10, 100), (4000, 1000, 1), (4000, 10**9, 1), (0, 1, 1), (4000, 0, 1000)],
)
def test_a_quarter_of_it_is_used(
    free: int, item: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpcert.core.memory.free_bytes", lambda _: free)
    assert chunk_size(item, CPU) == size


def test_the_share_may_be_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpcert.core.memory.free_bytes", lambda _: 4000)
    assert chunk_size(10, CPU, share=0.5) == 200


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError(
            "cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, "
            "when calling `cusolverDnCreate(handle)`"
        ),
    ],
)
def test_shortages(error: Exception) -> None:
    """The last one was seen where other processes had taken all of a GPU's memory."""
    assert is_shortage(error)


@pytest.mark.parametrize(
    "error",
    [RuntimeError("shapes cannot be multiplied"), ValueError("alloc"), Unsound("no allocation")],
)
def test_other_troubles(error: Exception) -> None:
    assert not is_shortage(error)
