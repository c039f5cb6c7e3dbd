"""Store: verdicts on disk, none lost, none twice, none half-written."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import final

from warpcert.core.durable import sweep, sync_folder, write_whole
from warpcert.core.undisturbed import undisturbed
from warpcert.run.item import Key
from warpcert.run.results import describe, fields_path, parse_results, read_task, task_path
from warpcert.run.row import Row
from warpcert.run.task import Task
from warpcert.run.witness import Witness, name_witness

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class StoreError(Exception):
    """Results that cannot be written here; the message is one line for the user."""


@final
class Store:
    """A results file that is open for one task and one writer.

    Each batch of rows is appended by one write and reaches the disk before `add` returns; a
    write that fails is taken back. What a crash leaves behind is at most one torn line at the
    end, which opening cuts off. A witness is on the disk before the row that names it.
    """

    def __init__(self, path: Path, task: Task) -> None:
        self.path, self.task = path, task
        self.rows: dict[Key, Row] = {}
        self._handle = _open(path)
        try:
            _lock(self._handle, path)
            self._size = self._resume()
            sweep(path.parent, path.name)
            sweep(fields_path(path))
            if read_task(path) != task:
                with writing(path):
                    write_whole(task_path(path), describe(task))
        except BaseException:
            os.close(self._handle)
            raise

    def _resume(self) -> int:
        """Read what is there and cut off a torn end; the size of what is left."""
        content = _read(self._handle)
        try:
            results = parse_results(self.path, content, read_task(self.path))
        except ValueError as error:
            raise StoreError(f"{error}: name another file") from None
        if results.rows and results.rows[0].task != self.task.digest:
            asked = "" if results.task is None else f" ({results.task})"
            raise StoreError(
                f"{self.path} holds the verdicts of another task, {results.rows[0].task}{asked}; "
                f"this one is {self.task.digest} ({self.task}): name another file"
            )
        self.rows = {row.key: row for row in results.rows}
        if unknown := self.rows.keys() - {item.key for item in self.task.items}:
            raise StoreError(f"{self.path} holds {len(unknown)} verdicts that were not asked for")
        if results.whole < len(content):
            with writing(self.path):
                os.ftruncate(self._handle, results.whole)
                os.fsync(self._handle)
        return results.whole

    def __contains__(self, key: Key) -> bool:
        return key in self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file free for another writer."""
        os.close(self._handle)

    def add(self, found: Sequence[tuple[Row, Witness | None]]) -> list[Row]:
        """Append rows, durably, after their witnesses; the rows as they are in the file."""
        rows = [self._keep(row, witness) for row, witness in found]
        for row in rows:
            if row.key in self.rows or row.task != self.task.digest:
                raise ValueError(f"{row.image} is in {self.path} already, or of another task")
        with undisturbed():  # the file and what is known of it say the same
            self._append(b"".join(row.line for row in rows))
            self.rows |= {row.key: row for row in rows}
        return rows

    def _keep(self, row: Row, witness: Witness | None) -> Row:
        """Write the witness; the row with its path, relative to the results file."""
        if witness is None:
            return row
        folder = fields_path(self.path)
        name = name_witness(row.key)
        with writing(self.path, len(self)):
            if not folder.is_dir():
                folder.mkdir()
                sync_folder(folder.parent)
            write_whole(folder / name, witness.content)
        return row.at(f"{folder.name}/{name}")

    def _append(self, content: bytes) -> None:
        with writing(self.path, len(self)):
            try:
                if os.write(self._handle, content) < len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(self._handle)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._handle, self._size)
                raise
        self._size += len(content)


@contextmanager
def writing(path: Path, safe: int | None = None) -> Iterator[None]:
    """Turn a disk's refusal into one line."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        mend = "free some space" if full else "see to it, or name another file"
        kept = "" if safe is None else f": the {safe} verdicts in it are safe"
        again = "" if safe is None else ", and give the same command to continue"
        reason = f"{error.strerror or error}"
        raise StoreError(f"{path} cannot be written ({reason}){kept}; {mend}{again}") from None


def _open(path: Path) -> int:
    """A handle that appends; a file that cannot be had is refused."""
    folder = path.parent
    if not os.path.isdir(folder):  # noqa: PTH112 - Path raises where asking is forbidden
        raise StoreError(f"{path} cannot be written: there is no folder {folder}, create it first")
    if os.path.isdir(path):  # noqa: PTH112
        raise StoreError(f"{path} is a folder: name a file for the results")
    with writing(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _OPEN_AS_IS, 0o666)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise StoreError(f"{path} is no regular file: name another for the results")
        sync_folder(folder)
    return handle


_OPEN_AS_IS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def _lock(handle: int, path: Path) -> None:
    """Hold the file for this process, until it ends."""
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(
            f"{path} is being written by another process: wait for it, or name another file"
        ) from None
    except OSError:  # a file system without locks
        return


def _read(handle: int) -> bytes:
    with os.fdopen(os.dup(handle), "rb") as stream:
        stream.seek(0)
        return stream.read()
