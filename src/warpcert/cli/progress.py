"""`Progress`: how far a run is, on standard error."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.live import Live

    from warpcert.run import Row

EVERY = 5.0
"""Seconds between two lines where there is no terminal."""

WIDTH = 12
"""Characters of the bar."""

NAMES = ("certified", "falsified", "unknown", "misclassified")


class Progress(ABC):
    """A context in which every new verdict is told."""

    def __enter__(self) -> Progress:
        return self

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Come to an end."""

    @abstractmethod
    def __call__(self, row: Row) -> None:
        """Hear of a verdict."""


class Tally:
    """What is done, how fast, and how long the rest will take.

    The clock starts at the first new verdict: before it, processes and networks are loaded.
    """

    def __init__(self, total: int, old: Counter[str]) -> None:
        self.total, self.found = total, old
        self._first: tuple[int, float] | None = None

    def add(self, status: str) -> None:
        """Count a verdict."""
        self.found[status] += 1
        if self._first is None:
            self._first = self.done, time.monotonic()

    @property
    def done(self) -> int:
        """All verdicts, those of earlier runs included."""
        return sum(self.found.values())

    def __str__(self) -> str:
        counts = ", ".join(f"{self.found[name]} {name}" for name in NAMES)
        return f"{self.done}/{self.total} done: {counts}{self._speed()}"

    def _speed(self) -> str:
        if self._first is None or self.done == self._first[0]:
            return ""
        rate = (self.done - self._first[0]) / max(time.monotonic() - self._first[1], 1e-3)
        speed = f"{rate:.1f}/s" if rate >= 1 else f"{1 / rate:.1f} s each"
        return f"; {speed}, {write_time((self.total - self.done) / rate)} left"


def write_time(seconds: float) -> str:
    """A duration as people say it: 42 s, 3:07 min, 2:05 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // 60}:{minutes % 60:02} h"


class Silence(Progress):
    """Tells nothing."""

    def __exit__(self, *_: object) -> None:
        """Nothing was begun."""

    def __call__(self, row: Row) -> None:
        """Say nothing."""


class Lines(Progress):
    """A line on standard error every few seconds, and one at the end."""

    def __init__(self, total: int, old: Counter[str]) -> None:
        self._tally = Tally(total, old)
        self._last = time.monotonic()
        self._told = -1

    def __exit__(self, *_: object) -> None:
        if self._told != self._tally.done:
            self._print()

    def __call__(self, row: Row) -> None:
        self._tally.add(row.status.value)
        if time.monotonic() - self._last >= EVERY:
            self._print()

    def _print(self) -> None:
        self._last, self._told = time.monotonic(), self._tally.done
        print(f"warpcert: {self._tally}", file=sys.stderr, flush=True)


class Bar(Progress):
    """A bar on the terminal that moves."""

    def __init__(self, total: int, old: Counter[str]) -> None:
        from rich.console import Console
        from rich.live import Live

        from warpcert.core.progress import listening

        self._tally = Tally(total, old)
        console = Console(stderr=True, markup=False, emoji=False, highlight=False)
        self._live: Live = Live(console=console, get_renderable=self._draw, transient=True)
        self._tree = ""
        self._heard = listening(self._hear)

    def __enter__(self) -> Progress:
        self._heard.__enter__()
        self._live.__enter__()
        return self

    def _hear(self, progress: object) -> None:
        """How far the tree of the image in work is; trees in other processes are not heard."""
        self._tree = f" [{progress}]"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)
        self._heard.__exit__(kind, error, trace)

    def __call__(self, row: Row) -> None:
        self._tally.add(row.status.value)
        self._tree = ""

    def _draw(self) -> str:
        full = WIDTH * self._tally.done // max(1, self._tally.total)
        return f"{'━' * full}{'╌' * (WIDTH - full)} {self._tally}{self._tree}"


def show_progress(total: int, old: Counter[str], *, kept: bool) -> Progress:
    """A bar on a terminal; elsewhere lines for a run whose results are kept, else nothing."""
    if sys.stderr is not None and sys.stderr.isatty():
        return Bar(total, old)
    return Lines(total, old) if kept else Silence()
