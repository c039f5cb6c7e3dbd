"""Progress: how far a long search is, for whoever wants to hear of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far a tree is: its open nodes and cells, and the least bound proved so far."""

    open: int
    bound: float

    def __str__(self) -> str:
        return f"{self.open} open, margin at least {self.bound:.3g}"


Listener = Callable[[Progress], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("_LISTENER", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let a listener hear of progress inside the block."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(progress: Callable[[], Progress]) -> None:
    """Tell the listener, if there is one; only then is anything computed."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(progress())
