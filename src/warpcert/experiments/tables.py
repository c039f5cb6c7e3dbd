"""Tables of verdicts: the published number beside ours in every cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from warpcert.experiments.cells import Cell, count
from warpcert.experiments.plan import Aim, Plan, Published
from warpcert.experiments.run import Run
from warpcert.experiments.work import Workshop
from warpcert.run.report.columns import Column
from warpcert.run.report.markdown import write_columns
from warpcert.run.report.words import DASH, write_number

NOTHING = Cell()
PAPER = {"deeppoly": "DeepPoly", "milp": "MILP", "krelu": "k-ReLU"}


@final
@dataclass(frozen=True)
class Line:
    """A threat, and for one network what each engine has made of it, or has been reported to."""

    norm: float
    delta: float
    gamma: float
    cells: Mapping[str, Cell]
    published: Mapping[str, Published]

    def cell(self, engine: str) -> Cell:
        """What an engine has made of it, which may be nothing."""
        return self.cells.get(engine, NOTHING)

    def __str__(self) -> str:
        norm, delta, gamma = map(write_number, (self.norm, self.delta, self.gamma))
        return f"T{norm}, δ = {delta}, γ = {gamma}"


@final
@dataclass(frozen=True)
class Table:
    """The lines of one network."""

    network: str
    shown: str
    like: str
    lines: Sequence[Line]

    @property
    def begun(self) -> list[Line]:
        """The lines of which there are rows."""
        return [line for line in self.lines if line.cells]


def tabulate(plan: Plan, workshop: Workshop) -> list[Table]:
    """A table for each network of a plan, with every line that its sweeps have.

    What a plan has among its options says which of the rows it shows: of one delta alone, of some
    networks, of the first so many images of a data set.
    """
    options = plan.options
    by_network: dict[str, list[Run]] = {}
    for run in plan.rows.runs:
        if run.network in options.get("networks", [run.network]):
            by_network.setdefault(run.network, []).append(run)
    images = options.get("images", math.inf)
    tables = [_table(plan.rows, runs, workshop, images) for runs in by_network.values()]
    delta = options.get("delta")
    if delta is None:
        return tables
    return [
        replace(table, lines=[line for line in table.lines if line.delta == delta])
        for table in tables
    ]


def _table(plan: Plan, runs: Sequence[Run], workshop: Workshop, images: float) -> Table:
    cells = {
        run: count(row for row in workshop.rows(plan, run) if row.index < images) for run in runs
    }
    threats = dict.fromkeys(
        (run.norm, delta, gamma) for run in runs for delta in run.deltas for gamma in run.gammas
    )
    engines = dict.fromkeys(engine for _, engine, *_ in plan.published)
    lines = [
        Line(
            norm,
            delta,
            gamma,
            {
                run.engine.name: found[delta, gamma]
                for run, found in cells.items()
                if run.norm == norm and (delta, gamma) in found
            },
            {
                engine: plan.published.get(
                    (runs[0].network, engine, norm, delta, gamma), Published()
                )
                for engine in engines
            },
        )
        for norm, delta, gamma in threats
    ]
    subject = runs[0].subject
    return Table(subject.name, subject.shown, subject.like, lines)


def write_rates(plan: Plan, tables: Sequence[Table]) -> str:
    """The tables of a plan, and which cells fall short of its aim."""
    shown = {run.engine.name: run.engine.shown for run in plan.rows.runs}
    parts: list[str] = []
    for table in tables:
        lines = table.begun
        if not lines:
            continue
        like = f" (the paper's {table.like})" if table.like else ""
        parts.append(f"**{table.shown}**, `{table.network}`{like}")
        parts.append(write_columns(_columns(plan.columns, lines, shown)))
        parts.append(_write_devices(lines, shown))
    if plan.aim is not None:
        parts.append(write_aim(plan.aim, tables))
    asked = sum(len(table.lines) for table in tables)
    begun = sum(len(table.begun) for table in tables)
    parts.append(f"Lines that have rows: {begun} of {asked}." if begun < asked else "")
    return "\n\n".join(part for part in parts if part)


def _write_devices(lines: Sequence[Line], shown: Mapping[str, str]) -> str:
    """What each engine ran on."""
    found: dict[str, set[str]] = {}
    for line in lines:
        for engine, cell in line.cells.items():
            if cell.devices:
                found.setdefault(engine, set()).update(cell.devices)
    told = [f"{shown[engine]} on {', '.join(sorted(names))}" for engine, names in found.items()]
    return f"Run: {'; '.join(told)}." if told else ""


def _columns(names: Sequence[str], lines: Sequence[Line], shown: Mapping[str, str]) -> list[Column]:
    """The columns that a plan asks for; norms only where there are several."""
    threat = [
        ("δ", tuple(write_number(line.delta) for line in lines)),
        ("γ", tuple(write_number(line.gamma) for line in lines)),
    ]
    if len({line.norm for line in lines}) > 1:
        threat.insert(0, ("T", tuple(write_number(line.norm) for line in lines)))
    found = [Column(heading, cells) for heading, cells in threat]
    for name in names:
        heading, write = _column(name, shown)
        found.append(Column(heading, tuple(write(line) for line in lines)))
    return found


def _column(name: str, shown: Mapping[str, str]) -> tuple[str, Callable[[Line], str]]:
    """A column by name: "paper ENGINE [seconds]", or one of ours, "KIND ENGINE"."""
    first, engine, *seconds = name.split()
    if first == "paper":
        if seconds:
            return f"paper {PAPER[engine]} s", lambda line: _number(line.published[engine].seconds)
        return f"paper {PAPER[engine]} %", lambda line: _number(line.published[engine].rate)
    heading, write = OURS[first]
    return heading.format(shown[engine]), lambda line: write(line, engine)


def _rate(line: Line, engine: str) -> str:
    cell = line.cell(engine)
    return DASH if cell.rate is None else f"{cell.rate:.0f} ({cell.correct})"


def _counts(line: Line, engine: str) -> str:
    cell = line.cell(engine)
    if not cell.correct:
        return DASH
    return f"{cell.certified} / {cell.falsified} / {cell.undecided}"


def _ratio(line: Line, engine: str) -> str:
    ours, theirs = line.cell(engine).seconds, line.published["milp"].seconds
    if not ours or theirs is None:
        return DASH
    return f"{theirs / ours:.{0 if theirs > ours else 1}f}"


def _number(value: float | None) -> str:
    return DASH if value is None else f"{value:.3g}"


OURS: dict[str, tuple[str, Callable[[Line, str], str]]] = {
    "rate": ("{} % (n)", _rate),
    "counts": ("certified / falsified / undecided", _counts),
    "seconds": ("{} s", lambda line, engine: _number(line.cell(engine).seconds)),
    "each": ("{} s", lambda line, engine: _number(line.cell(engine).each)),
    "margin": ("{} margin", lambda line, engine: _number(line.cell(engine).margin)),
    "ratio": ("times faster than MILP", _ratio),
}
"""Kinds of columns, with their headings: mean seconds are over the images that were decided
("seconds") or over all that were asked about ("each")."""


def write_aim(aim: Aim, tables: Sequence[Table]) -> str:
    """Which cells fall short of the published rate or of the speed, with the reason."""
    asked, missed = 0, []
    for table in tables:
        for line in table.lines:
            cell, theirs = line.cell(aim.engine), line.published.get(aim.beside)
            if theirs is None or theirs.rate is None or theirs.seconds is None:
                continue
            if cell.rate is None:
                continue
            asked += 1
            if round(cell.rate) < theirs.rate:  # which was published in whole per cents
                missed.append(f"{table.network}, {line}: {_why(cell, theirs.rate)}")
            limit = max(aim.floor, theirs.seconds / aim.times)
            if cell.seconds is not None and cell.seconds > limit:
                missed.append(
                    f"{table.network}, {line}: {cell.seconds:.3g} s an image, aim {limit:.3g} s"
                )
    if not asked:
        return ""
    if not missed:
        return (
            f"In all {asked} cells with rows at least the published rate is reached, in at most a "
            f"{aim.times:g}th of its time (or {aim.floor:g} s)."
        )
    head = (
        f"Of {asked} cells with rows, these fall short of the published rate, or take more than a "
        f"{aim.times:g}th of its time (and more than {aim.floor:g} s):"
    )
    return "\n".join([head, "", *(f"- {each}" for each in missed)])


def _why(cell: Cell, published: float) -> str:
    """Why a rate is below the published one."""
    most = cell.most or 0.0
    gap = f"{cell.rate:.0f} % of {cell.correct}, published {published:.0f} %"
    left = f"{cell.undecided} undecided after the time limit"
    if most >= published:
        return f"{gap}; {left}"
    return (
        f"{gap}; this network can be fooled on {cell.falsified} of them, so that none could "
        f"certify more than {most:.0f} %{f', and {left}' if cell.undecided else ''}"
    )
