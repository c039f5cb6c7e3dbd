"""`show_epochs`: how far training is, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from warpcert.cli.progress import WIDTH, write_time

if TYPE_CHECKING:
    from warpcert.train import Entry

Tell = Callable[["Entry"], None]


@contextmanager
def show_epochs(total: int) -> Iterator[Tell]:
    """A bar on a terminal, elsewhere a line for each epoch; counts are of validation images."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda entry: print(f"warpcert: {_line(entry, total)}", file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    shown = ["loading"]
    with Live(console=console, get_renderable=lambda: shown[0], transient=True):

        def tell(entry: Entry) -> None:
            full = WIDTH * (entry.epoch + 1) // total
            shown[0] = f"{'━' * full}{'╌' * (WIDTH - full)} {_line(entry, total)}"

        yield tell


def _line(entry: Entry, total: int) -> str:
    done = entry.epoch + 1
    left = write_time(entry.seconds / done * (total - done))
    counts = f"certified / correct / all {entry.certified} / {entry.correct} / {entry.all}"
    return f"epoch {done}/{total}: loss {entry.loss:.3f}, {counts}; {left} left"
