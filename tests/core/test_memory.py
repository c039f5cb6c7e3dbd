"""memory: chunks are never empty and follow what is free."""

from __future__ import annotations

import pytest
import torch

from warpcert.core.memory import chunk_size, free_bytes

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
