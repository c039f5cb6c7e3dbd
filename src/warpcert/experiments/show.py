"""Show: a plan's tables and pictures, from the rows that are there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from warpcert.experiments.plan import Plan
from warpcert.experiments.tables import write_rates
from warpcert.experiments.work import Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True)
class Shown:
    """Text in Markdown, and pictures by name."""

    text: str
    figures: Mapping[str, Figure] = field(default_factory=dict)


def _rates(plan: Plan, workshop: Workshop) -> Shown:
    return Shown(write_rates(plan, workshop))


VIEWS: dict[str, Callable[[Plan, Workshop], Shown]] = {"rates": _rates}


def show(plan: Plan, workshop: Workshop) -> Shown:
    """What a plan has to show."""
    return VIEWS[plan.view](plan, workshop)
