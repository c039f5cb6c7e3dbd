"""Log: one line of JSON for each epoch."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from warpcert.core.durable import write_whole


@dataclass(frozen=True)
class Entry:
    """What is known after an epoch; the last three count validation images."""

    epoch: int
    seconds: float
    progress: float
    strength: float
    kappa: float
    loss: float
    certified: int
    correct: int
    all: int


@dataclass(frozen=True)
class Log:
    """A file of entries, in the order of epochs."""

    path: Path

    def read(self) -> list[Entry]:
        """All entries."""
        if not self.path.exists():
            return []
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return [Entry(**json.loads(line)) for line in lines]

    def rewind(self, epoch: int) -> None:
        """Keep only what belongs to the first `epoch` epochs."""
        if not self.path.exists():
            return
        lines = self.path.read_text(encoding="utf-8").splitlines()[:epoch]
        write_whole(self.path, "".join(f"{line}\n" for line in lines).encode())

    def add(self, entry: Entry) -> None:
        """Append an entry."""
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(entry), allow_nan=False) + "\n")
