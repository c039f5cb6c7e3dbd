"""Apart: verdicts made in processes of their own."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, final

from warpcert.core.device import name_device
from warpcert.net import Network
from warpcert.run.decider import Answer, Decider
from warpcert.run.desk import give_up
from warpcert.run.gallery import Gallery
from warpcert.run.item import Item, Key
from warpcert.run.pace import Pace
from warpcert.run.queue import Queue
from warpcert.run.task import Task
from warpcert.run.worker import READY, receive, send, serve

PATIENCE = 3.0
"""Seconds that a process has to end by itself."""


@final
@dataclass(frozen=True, eq=False)
class Apart(Decider):
    """A process on each of the devices (one may stand there several times), a batch at a time.

    A process that dies is replaced; the items it had are tried once more, one by one, and what
    kills a process then is unknown. Processes start afresh (spawn) and share nothing.
    """

    task: Task
    network: Network
    devices: Sequence[str]
    most: int | None = None

    @property
    def device(self) -> str:
        return ", ".join(dict.fromkeys(name_device(device) for device in self.devices))

    def __call__(self, gallery: Gallery, queue: Queue) -> Iterator[Answer]:
        suspects: set[Key] = set()
        crew = [self._hire(device) for device in self.devices[: len(queue)]]
        try:
            while queue or any(worker.items for worker in crew):
                for worker in crew:
                    if worker.ready and not worker.items and queue:
                        share = -(-len(queue) // (2 * len(crew)))
                        worker.give(gallery, queue.take(min(worker.pace.size, share)))
                called = wait([worker.connection for worker in crew])
                for k, worker in enumerate(crew):
                    if worker.connection not in called:
                        continue
                    try:
                        value = receive(worker.connection)
                    except (EOFError, OSError):
                        crew[k] = self._hire(worker.device)
                        yield from _bury(worker, gallery, queue, suspects)
                    else:
                        yield from worker.hear(value)
        finally:
            for worker in crew:
                worker.dismiss()

    def _hire(self, device: str) -> _Worker:
        return _Worker(self, device)


class _Worker:
    """A process, as its employer sees it: idle, or at work on items."""

    def __init__(self, employer: Apart, device: str) -> None:
        self.device = device
        self.ready = False
        self.items: list[Item] = []
        self.pace = Pace(device, employer.task.timeout, employer.most)
        self._given = 0.0
        beside = list(employer.devices).count(device)
        context = multiprocessing.get_context("spawn")
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, device, beside), daemon=True)
        self.process.start()
        theirs.close()  # so that the end of the process is the end of the connection
        with suppress(OSError):  # it is dead already, which will be heard
            send(self.connection, (employer.task, employer.network.to("cpu")))

    def give(self, gallery: Gallery, items: list[Item]) -> None:
        """Put it to work."""
        places = [item.place for item in items]
        images, labels = gallery.images[places].cpu(), gallery.labels[places].cpu()
        self.items, self._given = items, time.perf_counter()
        with suppress(OSError):
            send(self.connection, (*items[0].threat, images.numpy(), labels.numpy()))

    def hear(self, value: Any) -> Iterator[Answer]:
        """What it says: verdicts, that it is ready, or an error, which is raised."""
        if isinstance(value, BaseException):
            raise value
        if value == READY:
            self.ready = True
            return
        items, self.items = self.items, []
        self.pace.note(len(items), time.perf_counter() - self._given)
        yield items, value

    def dismiss(self) -> None:
        """End the process, whatever it is doing."""
        self.connection.close()
        self.process.terminate()
        self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


def _bury(worker: _Worker, gallery: Gallery, queue: Queue, suspects: set[Key]) -> Iterator[Answer]:
    """Put back what a dead process was working on, or give it up when that is its second."""
    worker.process.join(PATIENCE)
    how = f"exit code {worker.process.exitcode}"
    ready, items = worker.ready, worker.items
    worker.dismiss()
    if not ready:
        raise RuntimeError(f"a worker process on {worker.device} died while it started ({how})")
    if len(items) == 1 and items[0].key in suspects:
        label = int(gallery.labels[items[0].place])
        yield items, [give_up(label, f"the process that worked on it died twice ({how})")]
        return
    suspects.update(item.key for item in items)
    queue.put_back(items)
