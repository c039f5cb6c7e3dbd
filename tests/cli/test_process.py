"""The command line as a process: exit codes, streams, signals, and what it loads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
COMMAND = (sys.executable, "-m", "warpcert")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(SRC)}
ENVIRONMENT.pop("PYTHONUNBUFFERED", None)  # what is in a buffer at the end can fail once more

SLOW_BOUNDS = """
import sys, time
import warpcert.flow

def pixel_bounds(*_):
    print("ready", flush=True)
    time.sleep(100)

warpcert.flow.pixel_bounds = pixel_bounds
from warpcert.cli import main
sys.exit(main(["bounds", "mnist:0"]))
"""

LOADED = """
import sys
from warpcert.cli import main
assert main(sys.argv[1:]) in (0, 2)
print(*sorted({"torch", "numpy", "matplotlib", "rich"} & set(sys.modules)), file=sys.stderr)
"""


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words],
        env=ENVIRONMENT,
        stdout=options.get("stdout", subprocess.PIPE),  # type: ignore[call-overload]
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def test_it_runs() -> None:
    done = run("bounds", "mnist:0", "--delta", "0.25")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("mnist:0: 1 image of 1 x 28 x 28, Tinf, delta 0.25, gamma inf")


@pytest.mark.parametrize("words", ["bounds nowhere.png", "bounds mnist:0 --norm 3", "frobnicate"])
def test_a_refusal(words: str) -> None:
    done = run(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("warpcert: ")
    assert done.stderr.count("\n") == 1


def test_a_defect() -> None:
    program = "import warpcert.data; del warpcert.data.load_images\n"
    program += "import sys; from warpcert.cli import main; sys.exit(main(['bounds', 'mnist:0']))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Traceback")
    assert "ImportError" in done.stderr


@pytest.mark.parametrize("words", ["--help", "data", "data --format json"])
def test_a_closed_pipe_is_quiet(words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run(*words.split(), stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", ["--help", "data"])
def test_a_full_disk_is_one_line(words: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = run(*words.split(), stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith("warpcert: cannot write the output")
    assert done.stderr.count("\n") == 1


def test_letters_that_the_output_lacks_are_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "größe\udcff").mkdir()
    monkeypatch.setitem(ENVIRONMENT, "PYTHONIOENCODING", "ascii")
    done = run("data", "--data", str(tmp_path / "größe\udcff"))
    assert (done.returncode, done.stderr) == (0, "")
    assert r"/gr\xf6\xdfe\udcff (" in done.stdout


def test_an_interruption() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_BOUNDS],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "warpcert: interrupted\n")


@pytest.mark.parametrize("words", ["--help", "bounds --help", "--version", "bounds", "frobnicate"])
def test_what_needs_no_mathematics_loads_none(words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words.split()],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == ""


@pytest.mark.parametrize("given", ["", "ACTIVE"])
def test_threads_that_wait_sleep_unless_the_user_says_otherwise(given: str) -> None:
    """Beside two busy processes, a tree of a second took more than fifteen while they turned."""
    program = "from warpcert.cli import main; main(['nets']); import os; print(os.environ[KEY])"
    environment = {k: v for k, v in ENVIRONMENT.items() if k != "OMP_WAIT_POLICY"}
    if given:
        environment["OMP_WAIT_POLICY"] = given
    answer = subprocess.run(
        [sys.executable, "-c", program.replace("KEY", "'OMP_WAIT_POLICY'")],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert answer.stdout.split()[-1] == (given or "PASSIVE")
