"""A time limit that long loops look at."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

_END: ContextVar[float] = ContextVar("_END", default=float("inf"))


class TimeUp(Exception):  # noqa: N818 - it is an answer, not a failure
    """The time limit has passed; what was not finished is not known."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Let `tick` raise `TimeUp` after so many seconds; an earlier limit around it stays."""
    token = _END.set(min(_END.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _END.reset(token)


def tick() -> None:
    """Raise `TimeUp` when the time is over: to be called in every loop that may take long."""
    if time.monotonic() > _END.get():
        raise TimeUp


def shared(things: Sequence[T]) -> Iterator[tuple[T, float]]:
    """Each of several things to do, with its share of the time that is then left."""
    for place, thing in enumerate(things):
        yield thing, left() / (len(things) - place)


def left() -> float:
    """Seconds until the limit; inf without one."""
    return _END.get() - time.monotonic()
