"""Show: a plan's tables and pictures, from the rows that are there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from warpcert.experiments.cells import Cell
from warpcert.experiments.figures import (
    Bars,
    draw_decided,
    draw_headline,
    draw_relaxations,
    draw_smoothness,
)
from warpcert.experiments.headline import compare, write_headline
from warpcert.experiments.pictures import (
    picture_comparison,
    picture_introduction,
    picture_overview,
)
from warpcert.experiments.plan import Plan
from warpcert.experiments.tables import Line, Table, tabulate, write_rates
from warpcert.experiments.values import write_accuracy, write_coverage, write_geometry
from warpcert.experiments.work import Workshop
from warpcert.run.report.words import write_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True)
class Shown:
    """Text in Markdown, and pictures by name."""

    text: str
    figures: Mapping[str, Figure] = field(default_factory=dict)


def show(plan: Plan, workshop: Workshop) -> Shown:
    """What a plan has to show."""
    return VIEWS[plan.view](plan, workshop)


def _rates(plan: Plan, workshop: Workshop) -> Shown:
    """The tables alone."""
    return Shown(write_rates(plan, tabulate(plan, workshop)))


def _delta(plan: Plan, workshop: Workshop) -> Shown:
    """The tables, and for every network the shares of its images over delta."""
    tables = tabulate(plan, workshop)
    networks = {
        table.shown: {line.delta: line.cell("auto") for line in table.lines}
        for table in tables
        if table.begun
    }
    figures = {plan.name: draw_decided(networks)} if networks else {}
    return Shown(write_rates(plan, tables), figures)


def _gamma(plan: Plan, workshop: Workshop) -> Shown:
    """The tables, and for every network a curve over gamma for each delta."""
    tables, figures = tabulate(plan, workshop), {}
    for table in tables:
        curves: dict[float, dict[float, Cell]] = {}
        for line in table.begun:
            curves.setdefault(line.delta, {})[line.gamma] = line.cell("auto")
        if table.begun:
            figures[f"{plan.name}-{table.network}"] = draw_smoothness(curves, title=table.shown)
    return Shown(write_rates(plan, tables), figures)


def _relaxations(plan: Plan, workshop: Workshop) -> Shown:
    """The tables, and for every network the rates of its engines beside each other."""
    tables = tabulate(plan, workshop)
    panels = [_bars(table, plan) for table in tables if table.begun]
    figures = {plan.name: draw_relaxations(panels)} if panels else {}
    return Shown(write_rates(plan, tables), figures)


def _headline(plan: Plan, workshop: Workshop) -> Shown:
    """A small table, and the same as a picture."""
    networks = compare(plan, workshop)
    if not networks:
        return Shown("")
    figure = draw_headline(networks, along="γ", published="the paper's MILP")
    return Shown(write_headline(networks), {plan.name: figure})


def _comparison(plan: Plan, workshop: Workshop) -> Shown:
    """The table, and the images with their fields."""
    tables = tabulate(plan, workshop)
    return Shown(write_rates(plan, tables), picture_comparison(plan, workshop))


VIEWS: dict[str, Callable[[Plan, Workshop], Shown]] = {
    "rates": _rates,
    "delta": _delta,
    "gamma": _gamma,
    "relaxations": _relaxations,
    "accuracy": lambda plan, workshop: Shown(write_accuracy(plan, workshop)),
    "coverage": lambda plan, workshop: Shown(write_coverage(plan, workshop)),
    "geometry": lambda plan, workshop: Shown(write_geometry(plan, workshop)),
    "introduction": lambda plan, workshop: Shown("", picture_introduction(plan, workshop)),
    "overview": lambda plan, workshop: Shown("", picture_overview(plan, workshop)),
    "comparison": _comparison,
    "headline": _headline,
}


def _bars(table: Table, plan: Plan) -> Bars:
    lines = table.begun
    engines = {run.engine.name: run.engine.shown for run in reversed(plan.rows.runs)}
    return Bars(
        table.shown,
        "certified (% of correct)",
        [_setting(line, lines) for line in lines],
        {shown: [line.cell(name).rate for line in lines] for name, shown in engines.items()},
    )


def _setting(line: Line, lines: Sequence[Line]) -> str:
    """What tells a line from the others."""
    parts = [f"δ {write_number(line.delta)}"]
    if len({other.gamma for other in lines}) > 1:
        parts.append(f"γ {write_number(line.gamma)}")
    return "\n".join(parts)
