"""No node is ever lost, also when memory runs out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.verify.test_deepen import SEEDS, plot_of
from warpcert.bound import Beta, Nodes
from warpcert.verify.branch import Effort
from warpcert.verify.branch import plot as plots
from warpcert.verify.branch.pool import Pool

SHORT = torch.OutOfMemoryError("tried to allocate")


def nodes_of(bounds: list[float]) -> Nodes:
    """Nodes of two neurons with given bounds, told apart by their rows."""
    count = len(bounds)
    zeros = torch.zeros((count, 2))
    ends = torch.ones((count, 2), dtype=torch.float64)
    rows, signs = torch.arange(count), torch.zeros((count, 2), dtype=torch.int8)
    bound = torch.tensor(bounds, dtype=torch.float64)
    return Nodes(rows, signs, -ends, ends, bound, zeros, zeros, None, torch.zeros_like(rows))


def failing(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, after: int) -> None:
    """The call of that number, from 0, and no other, finds no memory."""
    real: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def call(*given: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == after + 1:
            raise SHORT
        return real(*given, **options)

    monkeypatch.setattr(owner, name, call)


@pytest.mark.parametrize("after", range(12))
def test_nothing_is_lost_while_the_pool_grows(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool()
    pool.put(nodes_of([-3.0, -1.0, -2.0]))
    with monkeypatch.context() as patch:
        failing(patch, torch, "cat", after)
        try:
            pool.put(nodes_of([-5.0, -4.0, -6.0, -7.0]))
        except torch.OutOfMemoryError:
            assert len(pool) == 3 and pool.lowest == -3.0
            pool.put(nodes_of([-5.0, -4.0, -6.0, -7.0]))
    assert len(pool) == 7 and pool.lowest == -7.0
    assert pool.take(7).bound.tolist() == [-7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0]
    assert not len(pool)


@pytest.mark.parametrize("after", range(9))
def test_nothing_is_lost_while_nodes_are_taken(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool()
    pool.put(nodes_of([-3.0, -1.0, -2.0]))
    with monkeypatch.context() as patch:
        failing(patch, Tensor, "__getitem__", after)
        try:
            taken = len(pool.take(2))
        except torch.OutOfMemoryError:
            taken = 0
    assert len(pool) == 3 - taken
    assert pool.take(3).bound.tolist() == [-3.0, -2.0, -1.0][taken:]


def test_better_bounds_reach_all_nodes() -> None:
    """Where none is left, the upper end is that of the lower one: there are no members."""
    pool = Pool()
    pool.tighten(slice(0, 2), torch.zeros(2), torch.zeros(2))  # there are no nodes yet
    pool.put(nodes_of([-3.0, -1.0]))
    low = torch.tensor([0.5, -9.0], dtype=torch.float64)
    high = torch.tensor([0.25, 0.5], dtype=torch.float64)
    pool.tighten(slice(0, 2), low, high)
    nodes = pool.take(2)
    assert nodes.lower.tolist() == [[0.5, -1.0]] * 2
    assert nodes.upper.tolist() == [[0.5, 0.5]] * 2


@pytest.mark.parametrize("after", [0, 1, 2, 5])
@pytest.mark.parametrize("name", ["improve", "propagate", "deepen"])
def test_rounds_go_on_with_fewer_nodes(
    name: str, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And prove what they would have proved, never more than the exact margin on the way."""
    held = 0
    with torch.no_grad():
        for seed in SEEDS:
            plot, _, margin = plot_of(seed, Effort(splits=3, batch=64))
            plot.nodes = 10**6
            with monkeypatch.context() as patch:
                failing(patch, plots, name, after)
                for _ in range(300):
                    assert float(plot.margins.min()) <= margin + 1e-9
                    assert plot.held is None
                    if plot.done:
                        break
                    plot.round()
            held += plot.batch < 64
            assert bool((plot.margins > 0).all()) == (margin > 0)
    assert held or after > 1 or (name == "deepen" and after)


def test_memory_that_does_for_no_round_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was in work is still open."""

    def none(*_: object) -> Nodes:
        raise SHORT

    with torch.no_grad():
        plot = next(
            plot for plot in (plot_of(seed, Effort(splits=0))[0] for seed in SEEDS) if not plot.done
        )
        monkeypatch.setattr(Beta, "__call__", none)
        before = plot.margins.clone()
        for _ in range(10):  # 256, 128, ... 16
            if plot.batch < 2 * plots.FEWEST:
                break
            plot.round()
        with pytest.raises(torch.OutOfMemoryError):
            plot.round()
    assert plot.batch < 2 * plots.FEWEST and plot.open
    assert bool((plot.margins <= before).all()) and not bool((plot.margins > 0).all())
