"""Shards of one task come together: each verdict once, in order, and no contradiction."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.run import tiny
from warpcert.core import Unsound
from warpcert.run import Shard, Store, StoreError, Task, Witness, merge, read_results
from warpcert.run.results import task_path

TASK = tiny.task()


def write(path: Path, shard: Shard, status: str = "certified", task: Task = TASK) -> Path:
    items = shard.select(task.items)
    with Store(path, task) as store:
        for item in reversed(items):
            witness = None
            if status == "falsified":
                witness = Witness(torch.full((4, 4, 2), item.delta), torch.rand(1, 4, 4))
            store.add([(tiny.row(item, status, task), witness)])
    return path


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / f"{k}.jsonl", Shard(k, 3)) for k in (1, 2, 3)]


def test_all_verdicts_in_order(shards: list[Path], tmp_path: Path) -> None:
    results = merge(shards[::-1], tmp_path / "all.jsonl")
    assert [row.key for row in results.rows] == [item.key for item in TASK.items]
    assert results.task == TASK
    with Store(tmp_path / "all.jsonl", TASK) as store:  # a run can go on with it
        assert len(store) == len(TASK.items)


def test_a_part_that_is_missing_is_missing(shards: list[Path], tmp_path: Path) -> None:
    results = merge(shards[1:], tmp_path / "all.jsonl")
    expected = [item.key for k, item in enumerate(TASK.items) if k % 3 != 0]
    assert [row.key for row in results.rows] == expected


def test_duplicates_once(shards: list[Path], tmp_path: Path) -> None:
    whole = write(tmp_path / "whole.jsonl", Shard(1, 1))
    results = merge([shards[0], whole, shards[0]], tmp_path / "all.jsonl")
    assert [row.key for row in results.rows] == [item.key for item in TASK.items]


@pytest.mark.parametrize("order", [1, -1])
def test_what_one_machine_knows_is_known(tmp_path: Path, order: int) -> None:
    files = [
        write(tmp_path / "a.jsonl", Shard(1, 1), "unknown"),
        write(tmp_path / "b.jsonl", Shard(1, 2), "certified"),
    ]
    rows = merge(files[::order], tmp_path / "all.jsonl").rows
    assert [row.status.value for row in rows[:4]] == ["certified", "unknown"] * 2


@pytest.mark.parametrize("order", [1, -1])
def test_contradictions_are_loud(tmp_path: Path, order: int) -> None:
    files = [
        write(tmp_path / "a.jsonl", Shard(1, 1), "falsified"),
        write(tmp_path / "b.jsonl", Shard(2, 4), "certified"),
    ]
    with pytest.raises(Unsound):
        merge(files[::order], tmp_path / "all.jsonl")
    assert not (tmp_path / "all.jsonl").exists()


def test_fields_come_along(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    files = [
        write(tmp_path / "one" / "r.jsonl", Shard(1, 2), "falsified"),
        write(tmp_path / "two" / "r.jsonl", Shard(2, 2), "falsified"),
    ]
    results = merge(files, tmp_path / "all.jsonl")
    for row in results.rows:
        assert row.field is not None and row.field.startswith("all.fields/")
        source = tmp_path / ("one", "two")[TASK.items.index(item_of(row)) % 2] / "r.fields"
        content = (tmp_path / row.field).read_bytes()
        assert content == (source / Path(row.field).name).read_bytes()


def item_of(row):
    (item,) = [item for item in TASK.items if item.key == row.key]
    return item


def test_a_torn_end_is_passed_over_and_stays(shards: list[Path], tmp_path: Path) -> None:
    torn = shards[0].read_bytes()[:-5]
    shards[0].write_bytes(torn)
    assert len(merge(shards, tmp_path / "all.jsonl").rows) == len(TASK.items) - 1
    assert shards[0].read_bytes() == torn


def test_wrong_files(shards: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "all.jsonl"
    other = write(tmp_path / "other.jsonl", Shard(1, 1), task=tiny.task(method="alpha"))
    with pytest.raises(ValueError, match="are of different tasks: merge the files of one"):
        merge([*shards, other], out)
    with pytest.raises(ValueError, match=r"gone\.jsonl cannot be read"):
        merge([tmp_path / "gone.jsonl"], out)
    with pytest.raises(ValueError, match=r"1\.jsonl is there already"):
        merge(shards, shards[0])
    with pytest.raises(StoreError, match="cannot be written"):
        merge(shards, tmp_path / "no" / "all.jsonl")
    task_path(shards[0]).write_bytes(task_path(other).read_bytes())
    with pytest.raises(ValueError, match=r"is not the task of .*1\.jsonl"):
        merge(shards, out)
    task_path(shards[0]).unlink()
    with pytest.raises(ValueError, match=r"has no 1\.jsonl\.task\.json beside it"):
        merge(shards, out)
    assert not out.exists()


def test_a_missing_field(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", Shard(1, 1), "falsified")
    field = read_results(path).rows[0].field
    assert field is not None
    (tmp_path / field).unlink()
    with pytest.raises(ValueError, match=r"a witness of .*r\.jsonl, is missing"):
        merge([path], tmp_path / "all.jsonl")
    assert not (tmp_path / "all.jsonl").exists()
