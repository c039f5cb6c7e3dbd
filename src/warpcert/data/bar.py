"""`show_bar`: how far a download has come, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int, int | None], None]
"""Is told of the bytes just received, and of the bytes of the whole if the server said so."""


@contextmanager
def show_bar(title: str, shown: bool) -> Iterator[Advance]:
    """A progress bar for as long as the context lasts, on a terminal and where it is wanted."""
    if not shown:
        yield lambda _received, _total: None
        return
    from rich.console import Console  # noqa: PLC0415 - only a download needs it
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    console = Console(stderr=True)
    hidden = not console.is_terminal  # a log file gets no bars
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(title, total=None)
        yield lambda received, total: bar.update(task, advance=received, total=total)
