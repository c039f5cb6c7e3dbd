"""A run decides what is missing, keeps it, and refuses contradictions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import warpcert as wc
from tests.run import tiny
from warpcert.core import Unsound, Unsupported
from warpcert.core.verdict import Verdict
from warpcert.run import Desk, Here, Row, Runner, Shard, Store, Task, read_results
from warpcert.run.pace import Pace
from warpcert.run.queue import Queue

Certify = Callable[..., list[Verdict]]


class Oracle:
    """Says what it is told to, and remembers what it was asked."""

    def __init__(self, status: Callable[[wc.Threat, int], str] = lambda *_: "certified") -> None:
        self.status = status
        self.asked: list[tuple[float, float, int]] = []
        self.sizes: list[int] = []

    def __call__(
        self, network: Any, images: Tensor, labels: Tensor, threat: wc.Threat, *_: Any, **__: Any
    ) -> list[Verdict]:
        gallery = tiny.gallery()
        found = []
        self.sizes.append(len(images))
        for image, label in zip(images, labels.tolist(), strict=True):
            (place,) = [k for k, other in enumerate(gallery.images) if torch.equal(image, other)]
            assert label == int(gallery.labels[place])
            self.asked.append((threat.delta, threat.gamma, place))
            found.append(tiny.verdict(self.status(threat, place), label))
        return found


def runner(certify: Any, task: Task | None = None) -> Runner:
    task = task or tiny.task()
    return Runner(task, tiny.gallery(), Here(Desk(task, tiny.network(), certify)))


def test_every_item_once_and_in_order() -> None:
    oracle = Oracle()
    heard: list[Row] = []
    rows = runner(oracle)(listener=heard.append)
    keys = [item.key for item in tiny.task().items]
    assert [row.key for row in rows] == keys == oracle.asked == [row.key for row in heard]
    assert [row.label for row in rows[:5]] == tiny.gallery().labels.tolist()
    assert rows[7].image == "some.npz[2]" and rows[7].task == tiny.task().digest


def test_the_real_verdicts() -> None:
    """The batches of a run say what one call says."""
    task, gallery = tiny.task(), tiny.gallery()
    rows = runner(wc.certify)()
    for k, threat in enumerate(task.threats):
        expected = wc.certify(tiny.network(), gallery.images, gallery.labels, threat, "interval")
        assert isinstance(expected, list)
        for row, verdict in zip(rows[5 * k : 5 * k + 5], expected, strict=True):
            assert row.margin == pytest.approx(verdict.margin)
            told = verdict.status, verdict.rival, verdict.method
            assert (row.status, row.rival, row.method) == told
    assert {row.status.value for row in rows} == {"certified", "unknown"}


def test_a_run_that_stops_and_goes_on(tmp_path: Path) -> None:
    task, path = tiny.task(), tmp_path / "r.jsonl"

    class StopError(Exception):
        pass

    seen: set = set()
    for _ in range(30):  # each run stops after three verdicts
        oracle = Oracle()
        heard: list[Row] = []

        def listener(row: Row, heard: list[Row] = heard) -> None:
            heard.append(row)
            if len(heard) == 3:
                raise StopError

        try:
            with Store(path, task) as store:
                rows = runner(oracle)(store, listener=listener)
        except StopError:
            pass
        else:
            break
        assert not seen & set(oracle.asked)
        seen |= {row.key for row in read_results(path).rows}
    assert [row.key for row in rows] == [item.key for item in task.items]
    assert len(read_results(path).rows) == len(task.items)


def test_a_shard_is_its_share(tmp_path: Path) -> None:
    task = tiny.task()
    with Store(tmp_path / "r.jsonl", task) as store:
        for k in (2, 3, 1):
            oracle = Oracle()
            rows = runner(oracle)(store, Shard(k, 3).select(task.items))
            assert [row.key for row in rows] == [item.key for item in task.items[k - 1 :: 3]]
            assert sorted(oracle.asked) == sorted(row.key for row in rows)
        assert len(store) == len(task.items)


def test_witnesses_are_kept(tmp_path: Path) -> None:
    oracle = Oracle(lambda threat, place: "falsified" if place == 3 else "certified")
    with Store(tmp_path / "r.jsonl", tiny.task()) as store:
        rows = runner(oracle)(store)
    assert [row.field is not None for row in rows] == [row.index == 3 for row in rows]
    for row in rows:
        if row.field is not None:
            with np.load(tmp_path / row.field) as arrays:
                assert np.array_equal(arrays["image"], tiny.gallery().images[3].numpy())
    assert len(list((tmp_path / "r.fields").iterdir())) == 4


def test_a_contradiction_between_runs_is_loud(tmp_path: Path) -> None:
    """Certified for a larger threat in an earlier run, falsified for a smaller one in this."""
    task, path = tiny.task(), tmp_path / "r.jsonl"
    with Store(path, task) as store:
        store.add([(tiny.row(task.items[12], "certified"), None)])  # delta 0.2, gamma inf, image 2
    oracle = Oracle(lambda threat, place: "falsified" if place == 2 else "certified")
    before = path.read_bytes()
    with Store(path, task) as store, pytest.raises(Unsound, match=r"some\.npz\[2\] is certified"):
        runner(oracle)(store)
    rows = read_results(path).rows
    assert path.read_bytes().startswith(before)
    assert all(row.status.value == "certified" for row in rows)


def test_a_contradiction_in_the_file_is_loud(tmp_path: Path) -> None:
    task = tiny.task()
    with Store(tmp_path / "r.jsonl", task) as store:
        store.add([(tiny.row(task.items[0], "falsified"), None)])
        store.add([(tiny.row(task.items[10], "certified"), None)])
        with pytest.raises(Unsound):
            runner(Oracle())(store)


def test_memory_that_runs_out() -> None:
    """A batch is taken apart, and an image that does not fit alone is unknown."""
    oracle = Oracle()

    def certify(network: Any, images: Tensor, *rest: Any, **options: Any) -> list[Verdict]:
        big = torch.equal(images[0], tiny.gallery().images[3])
        if len(images) > 1 or big:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return oracle(network, images, *rest, **options)

    rows = runner(certify)()
    for row in rows:
        assert row.status.value == ("unknown" if row.index == 3 else "certified")
        if row.index == 3:
            assert "memory" in row.reason and row.margin == -np.inf and row.rival is None


def test_what_cannot_be_bounded_is_unknown() -> None:
    def certify(*_: Any, **__: Any) -> list[Verdict]:
        raise Unsupported("the norm 3")

    rows = runner(certify)()
    assert {(row.status.value, row.reason) for row in rows} == {
        ("unknown", "unsupported: the norm 3")
    }


@pytest.mark.parametrize("error", [RuntimeError("odd"), ValueError("odd"), Unsound("odd")])
def test_a_defect_is_raised(tmp_path: Path, error: Exception) -> None:
    oracle = Oracle()

    def certify(network: Any, images: Tensor, *rest: Any, **options: Any) -> list[Verdict]:
        if torch.equal(images[-1], tiny.gallery().images[4]):
            raise error
        return oracle(network, images, *rest, **options)

    with Store(tmp_path / "r.jsonl", tiny.task()) as store, pytest.raises(type(error)) as caught:
        runner(certify)(store)
    assert caught.value is error
    assert len(read_results(tmp_path / "r.jsonl").rows) >= 1  # what was computed is safe


def test_the_options_of_a_task_arrive() -> None:
    seen: list[dict] = []

    def certify(
        network: Any,
        images: Tensor,
        labels: Tensor,
        threat: wc.Threat,
        method: str,
        *,
        relaxation: str,
        timeout: float | None = None,
        solver: str,
        intersect: bool,
    ) -> list[Verdict]:
        seen.append({"method": method, "relaxation": relaxation, "timeout": timeout})
        seen[-1] |= {"intersect": intersect}
        assert solver == "highs"
        seen[-1] |= {"norm": threat.norm, "border": threat.border}
        return [tiny.verdict("unknown", int(label)) for label in labels]

    task = tiny.task(
        method="alpha",
        relaxation="box",
        timeout=7.5,
        norm=2.0,
        border="inside",
        gammas=(0.5,),
        intersect=False,
    )
    runner(certify, task)()
    assert len(seen) == len(task.items)  # each image alone with its time
    expected = {"method": "alpha", "relaxation": "box", "timeout": 7.5, "intersect": False}
    assert seen and all(s == expected | {"norm": 2.0, "border": "inside"} for s in seen)


def test_a_queue_hands_out_one_threat_at_a_time() -> None:
    items = tiny.task().items
    queue = Queue(items)
    taken = []
    while queue:
        batch = queue.take(3)
        assert len({item.threat for item in batch}) == 1
        taken.append(batch)
    assert [item for batch in taken for item in batch] == items
    assert [len(batch) for batch in taken] == [3, 2] * 4
    queue.put_back(items[:2])
    assert len(queue) == 2 and [queue.take(9), queue.take(9)] == [[items[0]], [items[1]]]


def test_batches_grow_while_they_are_quick() -> None:
    for device, timeout, expected in (
        ("cuda:1", None, [1, 4, 16, 64, 128, 1]),
        ("cuda:1", 60.0, [1, 4, 16, 64, 128, 1]),
        ("cpu", None, [1, 4, 8, 8, 8, 1]),
        ("cpu", 60.0, [1, 1, 1, 1, 1, 1]),
    ):
        pace = Pace(device, timeout)
        sizes = [pace.size]
        for seconds in (0.01, 0.01, 0.1, 0.5, 100.0):
            pace.note(pace.size, seconds)
            sizes.append(pace.size)
        assert sizes == expected
