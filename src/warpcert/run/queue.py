"""Queue: items that wait for a verdict."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import final

from warpcert.run.item import Item


@final
class Queue:
    """Hands out items in order, some at a time and always under one threat."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._fresh = deque(items)
        self._again: deque[Item] = deque()

    def __len__(self) -> int:
        return len(self._fresh) + len(self._again)

    def take(self, most: int) -> list[Item]:
        """The next items, at most so many; one that came back comes alone."""
        if self._again:
            return [self._again.popleft()]
        taken: list[Item] = []
        while self._fresh and len(taken) < most:
            if taken and self._fresh[0].threat != taken[0].threat:
                break
            taken.append(self._fresh.popleft())
        return taken

    def put_back(self, items: Sequence[Item]) -> None:
        """Take items back that got no answer."""
        self._again.extend(items)
