"""Campaign: the runs of a plan, side by side, each in a folder of its own.

A folder has what `warpcert train` writes, and what it said in `run.txt` and `errors.txt`. Whether
a run is finished, failed or still to be done is read off its folder, so that a campaign can be
stopped at any time, and the same command goes on.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpcert.train.plan import Entry

_TICK = 0.2  # seconds between two looks at the runs
_LEAST = 20.0  # seconds in which it is worth to start a run


@dataclass(frozen=True)
class Campaign:
    """Entries to be trained below a folder; ``more`` are words added to every command line."""

    entries: Sequence[Entry]
    folder: Path
    more: Sequence[str] = ()

    def run(self, parallel: int, seconds: float, tell: Callable[[str], None]) -> None:
        """Train all that is not finished, so many at a time, until time is up."""
        deadline = time.monotonic() + seconds
        waiting = [entry for entry in self.entries if self.summary(entry) is None]
        running: list[_Running] = []
        try:
            while waiting or running:
                left = deadline - time.monotonic()
                while waiting and len(running) < parallel and left > _LEAST:
                    entry = waiting.pop(0)
                    running.append(self._start(entry, left))
                    tell(f"{entry.name}: started")
                for one in [one for one in running if one.process.poll() is not None]:
                    running.remove(one)
                    one.close()
                    tell(f"{one.entry.name}: {self.state(one.entry)}")
                if not running and left <= _LEAST:
                    break
                time.sleep(_TICK)
        finally:
            for one in running:
                one.process.terminate()
                one.process.wait()
                one.close()

    def _start(self, entry: Entry, seconds: float) -> _Running:
        folder = self.folder / entry.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "failed.txt").unlink(missing_ok=True)
        words = [*entry.words, "--out", str(folder), *self.more]
        if seconds < float("inf"):
            words += ["--stop-after", f"{seconds:.1f}"]
        with (folder / "run.txt").open("ab") as said, (folder / "errors.txt").open("wb") as wrong:
            process = subprocess.Popen(
                [sys.executable, "-m", "warpcert.train", *words],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=wrong,
            )
        return _Running(entry, process, folder)

    def summary(self, entry: Entry) -> dict[str, Any] | None:
        """What is known of a finished network."""
        path = self.folder / entry.name / "summary.json"
        if not path.exists():
            return None
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if found["command"] != entry.options.command:
            raise ValueError(
                f"{path} was made by other options ({found['command']}): "
                "remove its folder or name another"
            )
        return found

    def state(self, entry: Entry) -> str:
        """In words: finished, failed (and why), begun or not begun."""
        if self.summary(entry) is not None:
            return "finished"
        folder = self.folder / entry.name
        if (folder / "failed.txt").exists():
            return f"failed: {(folder / 'failed.txt').read_text(encoding='utf-8').strip()}"
        return "begun" if (folder / "checkpoint.pt").exists() else "not begun"

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for every entry, failed ones too."""
        for entry in self.entries:
            summary = self.summary(entry)
            yield {"name": entry.name, "state": self.state(entry), **(summary or _said(entry))}


@dataclass(frozen=True, eq=False)
class _Running:
    """The process of an entry."""

    entry: Entry
    process: subprocess.Popen[bytes]
    folder: Path

    def close(self) -> None:
        """Keep its last word, if it failed."""
        if self.process.returncode > 0:
            said = (self.folder / "errors.txt").read_text(encoding="utf-8", errors="replace")
            last = (said.strip().splitlines() or ["no word"])[-1]
            (self.folder / "failed.txt").write_text(last + "\n", encoding="utf-8")


def _said(entry: Entry) -> dict[str, Any]:
    return {"command": entry.options.command, "threat": entry.options.examined.title}
