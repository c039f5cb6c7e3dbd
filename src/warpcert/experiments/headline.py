"""Headline: what the aim of a table compares, for its reader in a hurry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from warpcert.experiments.figures import Beside
from warpcert.experiments.plan import Plan
from warpcert.experiments.tables import tabulate
from warpcert.experiments.work import Workshop
from warpcert.run.report.columns import Column
from warpcert.run.report.markdown import write_columns
from warpcert.run.report.words import DASH, write_number


def compare(plan: Plan, workshop: Workshop) -> dict[str, list[Beside]]:
    """By network, the lines of a plan that were published and have rows."""
    aim = plan.rows.aim
    if aim is None:
        raise ValueError(f"{plan.name}: the plan {plan.rows.name} has no aim")
    found: dict[str, list[Beside]] = {}
    for table in tabulate(plan, workshop):
        for line in table.begun:
            theirs, cell = line.published[aim.beside], line.cell(aim.engine)
            if theirs.rate is not None and theirs.seconds is not None and cell.correct:
                one = Beside(write_number(line.gamma), theirs.rate, theirs.seconds, cell)
                found.setdefault(table.shown, []).append(one)
    return found


def write_headline(networks: Mapping[str, Sequence[Beside]]) -> str:
    """A line for each network and a column for each setting: published and ours."""
    settings = list(dict.fromkeys(one.setting for each in networks.values() for one in each))
    columns = [Column("network", tuple(networks), is_number=False)]
    for setting in settings:
        cells = [
            next((_write(one) for one in each if one.setting == setting), DASH)
            for each in networks.values()
        ]
        columns.append(Column(f"γ = {setting}", tuple(cells)))
    return write_columns(columns)


def _write(one: Beside) -> str:
    seconds = DASH if one.cell.seconds is None else f"{one.cell.seconds:.2g}"
    rate = f"{one.rate:.0f} → {one.cell.rate:.0f} %"
    return f"{rate}, {one.seconds:.3g} → {seconds} s (n {one.cell.correct})"
