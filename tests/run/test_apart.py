"""Processes of their own say the same, and one that dies takes nothing along."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.run import tiny
from tests.run.deadly import Deadly
from warpcert.core import Unsound
from warpcert.run import Apart, Desk, Here, Row, Runner, Store, Task, read_results


def test_processes_say_what_this_one_says(tmp_path: Path) -> None:
    task = tiny.task()
    apart = Apart(task, tiny.network(), ["cpu", "cpu"])
    with Store(tmp_path / "r.jsonl", task) as store:
        rows = Runner(task, tiny.gallery(), apart)(store)
        here = Runner(task, tiny.gallery(), Here(Desk(task, tiny.network())))()
        assert [row.status for row in rows] == [row.status for row in here]
        assert not multiprocessing.active_children()
        again = Runner(task, tiny.gallery(), apart)(store)  # starts no process at all
    assert again == rows
    assert len(read_results(tmp_path / "r.jsonl").rows) == len(rows)


def run_deadly(pixel: float, task: Task) -> list[Row]:
    plain, gallery = tiny.network(), tiny.gallery()
    network = Deadly(plain.input_shape, plain.steps)
    images = gallery.images.clone()
    images[2, 0, 0, 0] = pixel
    gallery = replace(gallery, images=images)
    return Runner(task, gallery, Apart(task, network, ["cpu"]))()


def test_what_kills_its_process_twice_is_unknown() -> None:
    task = tiny.task(deltas=(0.1,), gammas=(0.05,))
    rows = run_deadly(1.0, task)
    assert [row.index for row in rows] == [0, 1, 2, 3, 4]
    assert rows[2].status.value == "unknown"
    assert rows[2].reason == "the process that worked on it died twice (exit code -9)"
    assert all(row.method == "interval" for row in rows if row.index != 2)
    assert not multiprocessing.active_children()


def test_an_error_in_a_process_is_raised_here() -> None:
    with pytest.raises(Unsound, match="a pixel is black") as caught:
        run_deadly(0.0, tiny.task(deltas=(0.1,), gammas=(0.05,)))
    assert "in a worker process" in "".join(caught.value.__notes__)
    assert not multiprocessing.active_children()


def test_a_device_that_fails_at_the_start_is_an_error_at_once() -> None:
    task = tiny.task()
    with pytest.raises((RuntimeError, AssertionError)):
        Runner(task, tiny.gallery(), Apart(task, tiny.network(), ["cuda:99"]))()
    assert not multiprocessing.active_children()
