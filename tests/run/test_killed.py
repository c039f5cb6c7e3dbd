"""A run that is killed at any moment and started again ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

SRC = Path(__file__).parents[2] / "src"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}
QUICK = ("certify", "net.onnx", "--images", "mnist:0-29", "--delta", "0.2,0.6",
         "--gamma", "inf", "--gamma", "0.3", "--method", "interval")  # fmt: skip
SLOW = ("certify", "net.onnx", "--images", "mnist:0-9", "--delta", "0.2,0.6", "--method", "alpha",
        "--workers", "2", "--out", "r.jsonl")  # fmt: skip

# One process has everything loaded and forks runs, each of which is killed: from outside at a
# random moment, or by itself with a random part of a random line written.
NURSERY = """
import os, random, signal, sys, time
import torch
torch.set_num_threads(1)
import warpcert.data, warpcert.run, warpcert.verify
from warpcert.cli import main

kills, words = int(sys.argv[1]), sys.argv[2:]
write = os.write

def start(fatal):
    pid = os.fork()
    if pid:
        return pid
    count = 0
    def torn(handle, content):
        nonlocal count
        count += 1
        if count < fatal:
            return write(handle, content)
        write(handle, content[: random.randrange(len(content) + 1)])
        os.kill(os.getpid(), signal.SIGKILL)
    if fatal:
        os.write = torn
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os._exit(main(words))

def finish(pid, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

begin = time.monotonic()
codes = [finish(start(0), 1000)]
whole = time.monotonic() - begin
words[-1] = "killed.jsonl"
for k in range(kills):
    random.seed(k)
    fatal = k % 2 * random.randint(1, 3)
    codes.append(finish(start(fatal), 1000 if fatal else 0.4 * whole * random.random()))
    if codes[-1] != -signal.SIGKILL:
        break
else:
    codes.append(finish(start(0), 1000))
print(*codes)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small network in it."""
    path = tmp_path_factory.mktemp("killed")
    torch.manual_seed(1)
    module = nn.Sequential(
        nn.Conv2d(1, 4, 5, 3), nn.ReLU(), nn.Flatten(), nn.Linear(256, 20), nn.ReLU()
    )
    module.append(nn.Linear(20, 10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls its own exporter old
        net = str(path / "net.onnx")
        torch.onnx.export(module.eval(), (torch.zeros(1, 1, 28, 28),), net, dynamo=False)
    return path


def nursery(folder: Path, kills: int) -> list[int]:
    """Run to the end, then kill a second run so often and let it finish; the exit codes."""
    words = (*QUICK, "--workers", "1", "--out", "whole.jsonl")
    done = subprocess.run(
        [sys.executable, "-c", NURSERY, str(kills), *words],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(code) for code in done.stdout.split()]


def rows(path: Path) -> list[dict]:
    """The complete lines of a file."""
    content = path.read_bytes() if path.exists() else b""
    return [json.loads(line) for line in content.split(b"\n")[:-1]]


def statuses(path: Path) -> dict[tuple, str]:
    """The status of every key, each of which is there once; the file has whole lines only."""
    assert path.read_bytes().endswith(b"\n")
    found = {(row["delta"], row["gamma"], row["index"]): row["status"] for row in rows(path)}
    assert len(found) == len(rows(path))
    return found


def test_a_run_that_is_killed_again_and_again(folder: Path) -> None:
    whole, *killed, last = nursery(folder, 14)
    assert (whole, last) == (0, 0)
    assert set(killed) == {-9} and len(killed) >= 6
    expected = statuses(folder / "whole.jsonl")
    assert len(expected) == 120 and len(set(expected.values())) >= 2
    assert statuses(folder / "killed.jsonl") == expected


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "warpcert", *SLOW],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def family(group: int) -> Iterator[int]:
    """The processes of a session that are alive."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == group and fields[0] != "Z":
            yield int(path.parent.name)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_of_a_run_that_is_interrupted_and_then_killed(folder: Path) -> None:
    """Ctrl-C says how to go on, the same command does, and no process outlives either."""
    out = folder / "r.jsonl"
    process = start(folder)
    wait_for(lambda: len(rows(out)) >= 3)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    text, err = process.communicate(timeout=60)
    assert process.returncode == 130 and text == ""
    first = rows(out)
    assert err.splitlines()[-1] == (
        f"warpcert: interrupted: {len(first)} verdicts are safe in r.jsonl, "
        "the same command continues"
    )
    assert "Traceback" not in err
    assert 3 <= len(first) < 20
    wait_for(lambda: not list(family(process.pid)), 20)

    process = start(folder)
    wait_for(lambda: len(rows(out)) >= len(first) + 2)
    process.kill()
    process.communicate()
    wait_for(lambda: not list(family(process.pid)), 20)
    assert rows(out)[: len(first)] == first  # nothing that was there has changed
    keys = [(row["delta"], row["index"]) for row in rows(out)]
    assert len(set(keys)) == len(keys)
