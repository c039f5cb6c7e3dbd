"""Parts of the work: every wanted entry is treated, and nothing else."""

from __future__ import annotations

import pytest
import torch

from warpcert.bound.part import Part, parts, spare


def covered(wanted: torch.Tensor, found: list[Part]) -> torch.Tensor:
    seen = torch.zeros_like(wanted)
    for part in found:
        seen[part.images[:, None], part.entries] = True
    return seen


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.0])
def test_all_wanted_entries_and_no_others(size: int, share: float) -> None:
    wanted = torch.rand(5, 11) < share
    wanted[3] = False
    found = list(parts(wanted, size))
    assert torch.equal(covered(wanted, found), wanted)
    for part in found:
        assert part.entries.shape[0] == len(part.images) == len(part.images.unique())
        assert part.entries.numel() <= size or part.entries.shape[0] == 1
        assert part.entries.shape[1] <= max(size, 1)


def test_images_with_fewer_entries_repeat_one_of_their_own() -> None:
    wanted = torch.tensor([[True, True, True, False], [False, False, True, False]])
    (part,) = parts(wanted, 100)
    rows = dict(zip(part.images.tolist(), part.entries.tolist(), strict=True))
    assert rows == {0: [0, 1, 2], 1: [2, 2, 2]}


@pytest.mark.parametrize(("count", "rows"), [(1, 2), (1, 5), (3, 1), (4, 3)])
def test_halves_are_the_whole(count: int, rows: int) -> None:
    part = Part(torch.arange(count), torch.arange(count * rows).reshape(count, rows))
    halves = part.halves()
    assert all(half.entries.numel() for half in halves)
    assert sorted(k for half in halves for k in half.entries.flatten().tolist()) == list(
        range(count * rows)
    )


SHORTAGES = [
    torch.OutOfMemoryError("CUDA out of memory"),
    MemoryError(),
    RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes."),
]


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("error", SHORTAGES, ids=["cuda", "python", "cpu"])
def test_work_is_halved_until_it_fits(most: int, error: Exception) -> None:
    part = Part(torch.arange(3), torch.arange(12).reshape(3, 4))
    done: list[int] = []

    def work(some: Part) -> None:
        if some.entries.numel() > most:
            raise error
        done.extend(some.entries.flatten().tolist())

    spare(work, part)
    assert sorted(done) == list(range(12))


def test_a_single_row_that_does_not_fit_is_an_error() -> None:
    def work(some: Part) -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        spare(work, Part(torch.arange(2), torch.arange(4).reshape(2, 2)))


@pytest.mark.parametrize("error", [RuntimeError("shapes differ"), ValueError("alloc")])
def test_other_errors_are_raised_at_once(error: Exception) -> None:
    calls = []

    def work(some: Part) -> None:
        calls.append(some)
        raise error

    with pytest.raises(type(error)):
        spare(work, Part(torch.arange(2), torch.arange(4).reshape(2, 2)))
    assert len(calls) == 1
