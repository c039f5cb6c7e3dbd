"""`write_table`: the table of verdicts as words, the same for every format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpcert.core import Status
from warpcert.run.report.table import Line
from warpcert.run.report.words import write_number, write_seconds, write_share


@dataclass(frozen=True)
class Column:
    """A heading, and the cells below it; ``status`` is what the images it counts have become."""

    heading: str
    cells: tuple[str, ...]
    is_number: bool = True
    status: Status | None = None


def write_table(lines: Sequence[Line]) -> list[Column]:
    """The columns of the table; tasks and borders only where they tell lines apart."""
    columns = [
        Column("task", tuple(line.task for line in lines), is_number=False),
        Column("border", tuple(line.border for line in lines), is_number=False),
    ]
    usual = {"", "clamp"}
    return [
        *(column for column in columns if not usual.issuperset(column.cells)),
        Column("norm", tuple(write_number(line.norm) for line in lines)),
        Column("gamma", tuple(write_number(line.gamma) for line in lines)),
        Column("delta", tuple(write_number(line.delta) for line in lines)),
        Column(
            "certified / correct / all",
            tuple(line.counts for line in lines),
            status=Status.CERTIFIED,
        ),
        Column(
            "certified of correct",
            tuple(write_share(line.share(Status.CERTIFIED)) for line in lines),
        ),
        *(_count(status, lines) for status in Status if status is not Status.CERTIFIED),
        Column("mean seconds", tuple(write_seconds(line.mean_seconds) for line in lines)),
        Column("median seconds", tuple(write_seconds(line.median_seconds) for line in lines)),
    ]


def _count(status: Status, lines: Sequence[Line]) -> Column:
    numbers = tuple(f"{getattr(line, status.value)}" for line in lines)
    return Column(status.value, numbers, status=status)
