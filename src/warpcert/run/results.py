"""read_results: what a results file holds."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from warpcert.run.row import Row
from warpcert.run.task import Task

PACKED = ".gz"
"""The end of a results file's name that is compressed, to be read only."""


@final
@dataclass(frozen=True, eq=False)
class Results:
    """The verdicts in a file, as they stand in it, and their task where it is known.

    ``whole`` is the length in bytes of what is complete; a line that was being written when the
    power went out may follow.
    """

    path: Path
    task: Task | None
    rows: Sequence[Row]
    whole: int


def read_results(path: Path) -> Results:
    """Read a results file, also one that is being written; what is no such file is a ValueError."""
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == PACKED else content
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"{path} cannot be read ({reason}): name a results file") from None
    return parse_results(path, content, read_task(path))


def parse_results(path: Path, content: bytes, task: Task | None) -> Results:
    """The rows of a file's content, each key once and all of one task."""
    lines = content.split(b"\n")[:-1]
    rows: list[Row] = []
    whole = 0
    for number, line in enumerate(lines, start=1):
        try:
            row = Row.parse(line)
        except ValueError as error:
            if number == len(lines) and _ours(rows, task):
                break  # torn: the disk had room for the line's end, but not for the line
            raise ValueError(f"{path}, line {number} is {error}") from None
        rows.append(row)
        whole += len(line) + 1
    if whole < len(content) and not _ours(rows, task):
        raise ValueError(f"{path} is no results file: it holds something else")
    _check_one_task(path, rows)
    if len({row.key for row in rows}) < len(rows):
        raise ValueError(f"{path} holds a verdict twice")
    return Results(path, task, rows, whole)


def task_path(path: Path) -> Path:
    """The file beside a results file that says what was asked."""
    return path.with_name(f"{path.name.removesuffix(PACKED)}.task.json")


def describe(task: Task) -> bytes:
    """What is in that file."""
    return json.dumps({"digest": task.digest, **task.json}, allow_nan=False).encode() + b"\n"


def fields_path(path: Path) -> Path:
    """The folder beside a results file that holds its witnesses."""
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.fields")


def read_task(path: Path) -> Task | None:
    """The task of a results file, if it can be read."""
    try:
        return Task.from_json(json.loads(task_path(path).read_bytes()))
    except (OSError, ValueError):
        return None


def _ours(rows: Sequence[Row], task: Task | None) -> bool:
    """Whether a broken end can only be that of a verdict."""
    return bool(rows) or task is not None


def _check_one_task(path: Path, rows: Sequence[Row]) -> None:
    found = sorted({row.task for row in rows})
    if len(found) > 1:
        raise ValueError(f"{path} mixes the tasks {' and '.join(found)}: take them apart")
