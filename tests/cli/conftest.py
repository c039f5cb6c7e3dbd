"""A command line to call, and files to call it with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from warpcert.cli import main


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Call = Callable[..., Answer]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command line in this process."""

    def run(*words: str | Path) -> Answer:
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


@pytest.fixture
def refusal(call: Call) -> Callable[..., str]:
    """Run a command line that must be refused; the one line that it says."""

    def run(*words: str | Path) -> str:
        answer = call(*words)
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.startswith("warpcert: ")
        assert answer.err.endswith("\n")
        assert len(answer.err.splitlines()) == 1
        return answer.err.strip()

    return run


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with good files and bad ones; no data set is anywhere near."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WARPCERT_DATA", str(tmp_path))
    step = np.zeros((4, 4), np.float32)
    step[:, 2:] = 1
    colour = np.stack([step, np.full((4, 4), 0.5, np.float32), step])
    np.savez("step.npz", images=step[None], labels=np.array([3]))
    np.savez("colour.npz", images=colour[None])
    np.savez("twenty-five.npz", images=np.random.default_rng(0).random((25, 5, 5)))
    np.savez("nan.npz", images=np.full((1, 5, 5), np.nan))
    np.savez("bytes.npz", images=np.full((1, 5, 5), 200.0))
    Image.fromarray(np.uint8(255 * step)).save("step.png")
    Image.effect_noise((40, 40), 60).save("cut.png")
    Path("cut.png").write_bytes(Path("cut.png").read_bytes()[:300])
    return tmp_path
