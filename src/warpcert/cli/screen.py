"""What commands print: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal

import typer


class Format(StrEnum):
    """How a command answers."""

    TEXT = "text"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="How to answer.")]
Side = Literal["left", "right"]


def print_table(columns: Mapping[str, Side], rows: Sequence[Sequence[str]]) -> None:
    """A table: headings with the side they are aligned to, and rows of cells.

    A terminal gets one that fits it; anything else gets plain lines which no width can wrap.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout is not None and sys.stdout.isatty():
        _print_rich(columns, cells)
    else:
        _print_plain(columns, cells)


def print_line(text: str) -> None:
    """One line, as long as it is."""
    print(printable(text), flush=True)


def print_json(value: object) -> None:
    """One JSON document; a number that JSON does not have is a defect."""
    print(json.dumps(value, indent=2, allow_nan=False), flush=True)


def printable(text: str) -> str:
    """The text on one line; what would steer a terminal, or cannot be printed, is escaped."""
    line = " ".join(text.split())
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line
    )


def _print_rich(columns: Mapping[str, Side], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading, side in columns.items():
        table.add_column(heading, justify=side, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(markup=False, emoji=False, highlight=False).print(table)


def _print_plain(columns: Mapping[str, Side], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    lines = []
    for row in (list(columns), *rows):
        cells = [
            cell.rjust(width) if side == "right" else cell.ljust(width)
            for cell, width, side in zip(row, widths, columns.values(), strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    print("\n".join(lines), flush=True)
