"""A task is the same where it decides the same, and its items are all there once."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch

import warpcert as wc
from tests.run import tiny
from warpcert.run import Gallery, Item, NetworkSource, Shard, Task
from warpcert.run.source import hash_network

PLAIN = Task(
    NetworkSource("net.onnx", "00" * 32, (0.5,), None, "nchw", (1, 4, 4)),
    "some.npz",
    "11" * 32,
    (0, 1, 2),
    math.inf,
    (0.3, 0.4),
    (0.1, math.inf),
    version="0.1.0",
)


def test_the_digest_is_the_same_on_every_machine() -> None:
    assert PLAIN.digest == "a6ea1e8612ad5e94"


@pytest.mark.parametrize(
    "changes",
    [
        {"network": replace(PLAIN.network, sha256="22" * 32)},
        {"network": replace(PLAIN.network, mean=(0.4,))},
        {"network": replace(PLAIN.network, std=(0.4,))},
        {"network": replace(PLAIN.network, layout="nhwc")},
        {"network": replace(PLAIN.network, shape=None)},
        {"images_sha256": "22" * 32},
        {"norm": 2.0},
        {"deltas": (0.3,)},
        {"gammas": (0.1,)},
        {"border": "inside"},
        {"method": "alpha"},
        {"relaxation": "box"},
        {"timeout": 60.0},
        {"version": "0.2.0"},
        {"solver": "scip"},
    ],
)
def test_whatever_decides_verdicts_is_another_task(changes: dict) -> None:
    assert replace(PLAIN, **changes).digest != PLAIN.digest


def test_names_decide_nothing() -> None:
    other = replace(PLAIN, images="./some.npz", network=replace(PLAIN.network, name="/tmp/a.onnx"))
    assert other.digest == PLAIN.digest


@pytest.mark.parametrize("task", [PLAIN, replace(PLAIN, timeout=1.5, solver="scip")])
def test_a_task_survives_json(task: Task) -> None:
    text = json.dumps(task.json, allow_nan=False)
    assert Task.from_json(json.loads(text)) == task
    assert Task.from_json(json.loads(text)).digest == task.digest


@pytest.mark.parametrize("value", [{}, [], None, {"network": 3}, PLAIN.json | {"deltas": ["x"]}])
def test_what_is_no_task_is_refused(value: dict) -> None:
    with pytest.raises(ValueError, match="not a task"):
        Task.from_json(value)


@pytest.mark.parametrize(
    "changes", [{"deltas": ()}, {"gammas": (0.1, 0.1)}, {"timeout": 0.0}, {"timeout": math.nan}]
)
def test_a_sweep_that_is_none(changes: dict) -> None:
    with pytest.raises(ValueError, match="must be"):
        replace(PLAIN, **changes)


def test_items_come_by_threat_then_by_image() -> None:
    task = replace(PLAIN, indices=(7, 3, 5))
    assert task.items[:4] == [
        Item(0.3, 0.1, 7, 0),
        Item(0.3, 0.1, 3, 1),
        Item(0.3, 0.1, 5, 2),
        Item(0.3, math.inf, 7, 0),
    ]
    assert len({item.key for item in task.items}) == len(task.items) == 12
    assert [threat.gamma for threat in task.threats] == [0.1, math.inf] * 2


@pytest.mark.parametrize("count", [1, 2, 5, 8, 30])
def test_shards_are_all_items_once(count: int) -> None:
    items = tiny.task().items
    shares = [Shard(k, count).select(items) for k in range(1, count + 1)]
    assert sorted(item.key for share in shares for item in share) == sorted(
        item.key for item in items
    )
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("numbers", [(0, 2), (3, 2), (-1, 2), (1, 0)])
def test_a_shard_that_is_none(numbers: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="1 <= K <= N"):
        Shard(*numbers)


def test_every_pixel_label_and_index_is_in_the_images_hash() -> None:
    plain = tiny.gallery()
    brighter = plain.images.clone()
    brighter[4, 0, 3, 3] = torch.nextafter(brighter[4, 0, 3, 3], torch.tensor(1.0))
    others = [
        replace(plain, images=brighter),
        replace(plain, labels=plain.labels + 1),
        replace(plain, indices=(1, 0, 2, 3, 4)),
        replace(plain, images=plain.images.reshape(5, 1, 2, 8)),
    ]
    assert len({plain.sha256, *(other.sha256 for other in others)}) == 5
    assert tiny.gallery().sha256 == plain.sha256


def test_an_image_that_is_named_twice_is_refused() -> None:
    images, labels = wc.load_images("mnist:3,3")
    with pytest.raises(ValueError, match="names image 3 twice"):
        Gallery("mnist:3,3", images, labels, (3, 3), ("a", "b"))


def test_a_network_is_its_file_and_the_data_beside_it(tmp_path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"location net.onnx.data")
    (tmp_path / "net.onnx.data").write_bytes(b"1")
    (tmp_path / "results.jsonl").write_bytes(b"1")
    first = hash_network(str(tmp_path / "net.onnx"))
    (tmp_path / "results.jsonl").write_bytes(b"2")
    assert hash_network(str(tmp_path / "net.onnx")) == first
    (tmp_path / "net.onnx.data").write_bytes(b"2")
    assert hash_network(str(tmp_path / "net.onnx")) != first
    (tmp_path / "copy").write_bytes((tmp_path / "net.onnx").read_bytes())
    with pytest.raises(ValueError, match="cannot be read"):
        hash_network(str(tmp_path / "gone.onnx"))
