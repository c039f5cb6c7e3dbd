"""zoo_table: what is known of the zoo, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from warpcert.data import Specimen

BEGIN, END = "<!-- zoo: begin -->", "<!-- zoo: end -->"
DELTAS = ("0.3", "0.5", "0.7", "0.9")


def zoo_table(zoo: Mapping[str, Specimen]) -> str:
    """Two tables: what each network is worth, and the command that made it."""
    heads = ["network", "training", "threat", "certified / correct / all"]
    lines = [
        _row([*heads, *(f"Tinf {delta}" for delta in DELTAS), "size"]),
        _row(["---", "---", "---", "---:", *("---:" for _ in DELTAS), "---:"]),
    ]
    for specimen in zoo.values():
        size = f"{specimen.bytes / 1e6:.1f} MB" if specimen.ships else "to be made"
        deltas = [f"{specimen.test_by_delta[delta].certified}" for delta in DELTAS]
        known = [f"`{specimen.name}`", specimen.training, specimen.threat, str(specimen.test)]
        lines.append(_row([*known, *deltas, size]))
    lines += ["", _row(["network", "command", "made on"]), _row(["---"] * 3)]
    lines += [_row([f"`{s.name}`", f"`{s.command}`", s.made_on]) for s in zoo.values()]
    return "\n".join(lines)


def write_table(path: Path, zoo: Mapping[str, Specimen]) -> None:
    """Put the tables between the marks of a page."""
    page = path.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no lines {BEGIN} and {END}")
    text = f"{before}{BEGIN}\n{zoo_table(zoo)}\n{END}{after}"
    path.write_text(text, encoding="utf-8")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
