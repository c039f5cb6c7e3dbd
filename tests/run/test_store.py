"""A results file holds every verdict once, whatever happens to its writer."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import warpcert as wc
from tests.run import tiny
from warpcert.core import durable as durable_module
from warpcert.run import Row, Store, StoreError, Witness, read_results
from warpcert.run.results import task_path

TASK = tiny.task()
ROWS = [tiny.row(item) for item in TASK.items[:4]]


def plain(rows: list[Row]) -> list[tuple[Row, Witness | None]]:
    return [(row, None) for row in rows]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


@pytest.fixture
def written(path: Path) -> Path:
    with Store(path, TASK) as store:
        store.add(plain(ROWS[:1]))
        store.add(plain(ROWS[1:3]))
    return path


def test_rows_come_back(written: Path) -> None:
    assert written.read_bytes() == b"".join(row.line for row in ROWS[:3])
    with Store(written, TASK) as store:
        assert list(store.rows.values()) == ROWS[:3]
        assert ROWS[0].key in store and ROWS[3].key not in store and len(store) == 3
        store.add(plain(ROWS[3:]))
    results = read_results(written)
    assert results.rows == ROWS and results.task == TASK
    assert results.rows[0].version == TASK.version and results.rows[0].device == "cpu"


def test_rows_of_before_they_named_a_device(written: Path) -> None:
    """Files that lack the newest keys can still be read."""
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    for line in lines:
        del line["device"], line["version"], line["seed"]
    written.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [(row.key, row.device) for row in read_results(written).rows] == [
        (row.key, "") for row in ROWS[:3]
    ]


def test_the_task_is_beside_the_results(written: Path) -> None:
    value = json.loads((written.parent / "results.jsonl.task.json").read_text())
    assert value == {"digest": TASK.digest, **TASK.json}
    assert sorted(p.name for p in written.parent.iterdir()) == [
        "results.jsonl",
        "results.jsonl.task.json",
    ]


def test_a_torn_end_is_cut_off_at_every_byte(written: Path) -> None:
    """What a crash can leave of the last line: any beginning of it."""
    whole = written.read_bytes()
    start = len(whole)
    line = ROWS[3].line
    for size in range(len(line)):
        written.write_bytes(whole + line[:size])
        assert read_results(written).rows == ROWS[:3]  # a reader changes nothing
        assert written.stat().st_size == start + size
        with Store(written, TASK) as store:
            assert list(store.rows.values()) == ROWS[:3]
            assert written.read_bytes() == whole
    with Store(written, TASK) as store:
        store.add(plain(ROWS[3:]))
    assert written.read_bytes() == whole + line


def test_what_a_crash_leaves_beside_the_results_is_swept(written: Path) -> None:
    fields = written.parent / "results.fields"
    fields.mkdir()
    left = [written.parent / ".results.jsonl.task.json.0a1b.part", fields / ".3-a.npz.0a1b.part"]
    others = [written.parent / ".other.jsonl.0a1b.part", fields / "3-a.npz"]
    for path in (*left, *others):
        path.touch()
    Store(written, TASK).close()
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in others)


def test_a_torn_first_line_is_cut_off_at_every_byte(path: Path) -> None:
    Store(path, TASK).close()
    line = ROWS[0].line
    for size in range(len(line)):
        path.write_bytes(line[:size])
        with Store(path, TASK) as store:
            assert len(store) == 0
        assert path.read_bytes() == b""


@pytest.mark.parametrize("end", [b"\x00" * 300, b"\x00" * 300 + b"\n", b'{"task": \n', b"\n"])
def test_an_end_that_is_no_json_is_cut_off(written: Path, end: bytes) -> None:
    whole = written.read_bytes()
    written.write_bytes(whole + end)
    with Store(written, TASK) as store:
        assert len(store) == 3
    assert written.read_bytes() == whole


@pytest.mark.parametrize("content", [b"notes", b"notes\n", b'{"a": 1}\n', b"\x00", b"a\nb\n"])
def test_a_file_of_something_else_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreError, match="name another file"):
        Store(path, TASK)
    assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_broken_line_in_the_middle_is_no_torn_end(written: Path) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    content = lines[0] + lines[1][:-9] + b"\n" + lines[2]
    written.write_bytes(content)
    with pytest.raises(StoreError, match="line 2 is not a verdict"):
        Store(written, TASK)
    assert written.read_bytes() == content


def test_a_verdict_that_is_there_twice(written: Path) -> None:
    written.write_bytes(written.read_bytes() + ROWS[0].line)
    with pytest.raises(StoreError, match="holds a verdict twice"):
        Store(written, TASK)


def test_another_task_is_refused(written: Path) -> None:
    before = written.read_bytes(), task_path(written).read_bytes()
    other = tiny.task(method="alpha")
    with pytest.raises(StoreError) as caught:
        Store(written, other)
    line = str(caught.value)
    assert TASK.digest in line and other.digest in line and "another task" in line
    assert "\n" not in line
    assert (written.read_bytes(), task_path(written).read_bytes()) == before


def test_results_without_their_task_are_known_by_their_rows(written: Path) -> None:
    task_path(written).unlink()
    with pytest.raises(StoreError, match="another task"):
        Store(written, tiny.task(method="alpha"))
    with Store(written, TASK) as store:
        assert len(store) == 3
    assert task_path(written).exists()


def test_an_empty_file_is_anyone_s(path: Path) -> None:
    Store(path, tiny.task(method="alpha")).close()
    Store(path, TASK).close()
    assert read_results(path).task == TASK


def test_two_writers(path: Path) -> None:
    with Store(path, TASK) as store:
        with pytest.raises(StoreError, match="being written by another process"):
            Store(path, TASK)
        store.add(plain(ROWS[:1]))
    with Store(path, TASK) as store:
        assert len(store) == 1


def test_no_row_twice_and_none_of_another_task(written: Path) -> None:
    before = written.read_bytes()
    with Store(written, TASK) as store:
        for row in (ROWS[0], tiny.row(TASK.items[5], task="0123")):
            with pytest.raises(ValueError, match="already, or of another task"):
                store.add(plain([row]))
    assert written.read_bytes() == before


def short(handle: int, content: bytes, write: Callable[..., int] = os.write) -> int:
    return write(handle, content[: len(content) // 2])


def full(handle: int, content: bytes) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def half(handle: int, content: bytes, write: Callable[..., int] = os.write) -> int:
    write(handle, content[: len(content) // 2])
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("write", [short, full, half])
def test_a_full_disk(written: Path, monkeypatch: pytest.MonkeyPatch, write: Callable) -> None:
    before = written.read_bytes()
    with Store(written, TASK) as store:
        with monkeypatch.context() as patch:
            patch.setattr("os.write", write)
            with pytest.raises(StoreError) as caught:
                store.add(plain(ROWS[3:]))
        assert "No space left on device" in str(caught.value)
        assert "the 3 verdicts in it are safe" in str(caught.value)
        assert written.read_bytes() == before
        store.add(plain(ROWS[3:]))  # there is space again
    assert read_results(written).rows == ROWS


def test_a_disk_that_does_not_keep_it(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = written.read_bytes()
    with Store(written, TASK) as store:
        monkeypatch.setattr("os.fsync", full_sync)
        with pytest.raises(StoreError, match="Input/output error"):
            store.add(plain(ROWS[3:]))
    assert written.read_bytes() == before


def full_sync(handle: int) -> None:
    raise OSError(errno.EIO, "Input/output error")


def test_every_row_is_on_the_disk_before_add_returns(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One write of whole lines, then a sync, of the file that holds them."""
    calls: list[tuple[str, object]] = []
    write, sync = os.write, os.fsync
    with Store(path, TASK) as store:
        inode = path.stat().st_ino

        def seen_write(handle: int, content: bytes) -> int:
            calls.append(("write", content))
            return write(handle, content)

        def seen_sync(handle: int) -> None:
            calls.append(("sync", os.fstat(handle).st_ino == inode))
            sync(handle)

        monkeypatch.setattr("os.write", seen_write)
        monkeypatch.setattr("os.fsync", seen_sync)
        store.add(plain(ROWS[:2]))
    assert calls == [("write", ROWS[0].line + ROWS[1].line), ("sync", True)]


def test_an_interrupt_while_the_disk_is_busy_waits(
    written: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """What is told of the file after Ctrl-C is what it holds."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))  # the test runner's own
    sync = os.fsync

    def interrupted(handle: int) -> None:
        signal.raise_signal(signal.SIGINT)
        sync(handle)

    with Store(written, TASK) as store:
        monkeypatch.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.add(plain(ROWS[3:]))
        assert len(store) == len(read_results(written).rows) == 4
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_witness_is_kept_beside_the_results(path: Path) -> None:
    image = torch.rand(1, 4, 4)
    field = torch.full((4, 4, 2), 0.3)
    row = tiny.row(TASK.items[0], "falsified")
    with Store(path, TASK) as store:
        (kept,) = store.add([(row, Witness(field, image))])
    assert kept.field == "results.fields/0-delta0.1-gammainf.npz"
    assert read_results(path).rows == [kept]
    with np.load(path.parent / kept.field) as arrays:
        assert sorted(arrays) == ["field", "image", "warped"]
        assert arrays["field"].dtype == np.float64 and arrays["warped"].dtype == np.float32
        assert np.array_equal(arrays["field"], field.double().numpy())
        assert np.array_equal(arrays["image"], image.numpy())
        warped = wc.warp(image[None].double(), field[None].double())[0].float()
        assert np.array_equal(arrays["warped"], warped.numpy())
        assert not np.array_equal(arrays["warped"], arrays["image"])


def test_a_row_never_names_a_witness_that_is_missing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash at any step leaves a witness without a row at worst."""
    seen: list[list[str]] = []
    row = tiny.row(TASK.items[0], "falsified")
    with Store(path, TASK) as store:
        replace = Path.replace

        def watched(self: Path, target: Path) -> Path:
            seen.append([path.read_text(), self.name])
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", watched)
        (kept,) = store.add([(row, Witness(torch.zeros(4, 4, 2), torch.rand(1, 4, 4)))])
    assert len(seen) == 1 and seen[0][0] == ""  # no row yet when the witness gets its name
    assert kept.field is not None and (path.parent / kept.field).exists()


def test_a_full_disk_for_a_witness(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = written.read_bytes()

    def no_room(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("warpcert.run.store.write_whole", no_room)
    row = tiny.row(TASK.items[3], "falsified")
    with (
        Store(written, TASK) as store,
        pytest.raises(StoreError, match="the 3 verdicts in it are safe"),
    ):
        store.add([(row, Witness(torch.zeros(4, 4, 2), torch.rand(1, 4, 4)))])
    assert written.read_bytes() == before


def test_whole_files_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    durable_module.write_whole(tmp_path / "a", b"old")
    monkeypatch.setattr("os.fsync", full_sync)
    with pytest.raises(OSError, match="Input/output"):
        durable_module.write_whole(tmp_path / "a", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_the_lock_ends_with_its_process(path: Path) -> None:
    """Also when it is killed, with a process of its own still running."""
    program = """
import os, pickle, subprocess, sys
from pathlib import Path
from warpcert.run import Store
task = pickle.load(sys.stdin.buffer)
Store(Path(sys.argv[1]), task)
store = Store(Path(sys.argv[2]), task)
child = subprocess.Popen(["sleep", "60"], close_fds=False, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    import pickle

    src = str(Path(wc.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), str(path.with_name("b.jsonl"))],
        input=pickle.dumps(TASK),
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": src},
        check=False,
    )
    try:
        assert done.returncode == -9
        Store(path, TASK).close()
        Store(path.with_name("b.jsonl"), TASK).close()
    finally:
        os.kill(int(done.stdout), 9)


@pytest.mark.parametrize("name", ["no/results.jsonl", "folder", "/dev/null"])
def test_places_where_nothing_can_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match=r"create it first|name a file|no regular file"):
        Store(tmp_path / name, TASK)
