"""The page of results: every plan that has rows, one after the other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from warpcert.experiments.plan import PLANS, Plan, load, names
from warpcert.experiments.show import Shown, show
from warpcert.experiments.work import Workshop


def write_section(plan: Plan, shown: Shown, folder: str = "") -> str:
    """A plan's title, what it is, its tables and pictures, in Markdown."""
    title = f"{plan.title} ({plan.paper})" if plan.paper else plan.title
    pictures = [f"![{plan.title}]({folder}{name}.png)" for name in shown.figures]
    parts = [f"## {title}", plan.text, shown.text, *pictures, f"`warpcert reproduce {plan.name}`"]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_page(workshop: Workshop, page: Path, shown: Mapping[str, Shown]) -> str:
    """All plans that have something to show; pictures are where the rows are.

    What was ``shown`` already, by plan, is not made again.
    """
    folder = os.path.relpath(workshop.folder, page.resolve().parent) + "/"
    opening = (PLANS / "opening.md").read_text("utf-8").strip() + "\n"
    sections = [
        write_section(plan, shown.get(plan.name) or show(plan, workshop), folder)
        for plan in map(load, names())
        if workshop.has(plan)
    ]
    return "\n".join([opening, *sections])
