"""parallel: calls in threads, for solvers that compute outside of Python."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch

from warpcert.core.clock import tick

T = TypeVar("T")
PATIENCE = 0.1
"""Seconds between two looks at the clock, and at Ctrl-C, while others work."""


class Cancelled:
    """Whether work is no longer wanted; whoever does it asks now and then."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def __call__(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        """Say that it is not."""
        self._event.set()


def workers() -> int:
    """How many calls to make at once: as many as torch may use threads.

    So a process that is one of many, and has told torch, stays on its core.
    """
    return max(1, torch.get_num_threads())


def parallel(
    calls: Sequence[Callable[[Cancelled], T]], count: int | None = None
) -> Iterator[tuple[int, T]]:
    """Make calls in threads and yield their numbers and results, in the order they end.

    They begin in the order given. When the iterator is closed, the time is up or Ctrl-C is pressed,
    calls that have begun are told so and waited for, others are not begun: a process must not end
    while a solver computes in it. An error in a call is raised here. The clock's limit holds in
    the threads, too.
    """
    todo: queue.SimpleQueue[tuple[int, Callable[[Cancelled], T]]] = queue.SimpleQueue()
    for item in enumerate(calls):
        todo.put(item)
    done: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
    cancelled = Cancelled()

    def work() -> None:
        while not cancelled():
            try:
                number, call = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((number, call(cancelled), None))
            except BaseException as error:  # whoever waits raises it
                done.put((number, None, error))

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(work,))
        for _ in range(min(count or workers(), len(calls)))
    ]
    try:
        for thread in threads:
            thread.start()
        for _ in range(len(calls)):
            while True:
                tick()
                try:
                    number, result, error = done.get(timeout=PATIENCE)
                    break
                except queue.Empty:
                    continue
            if error is not None:
                raise error
            yield number, result
    finally:
        cancelled.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
