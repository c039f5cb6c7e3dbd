"""The paper's evaluation and what goes beyond it: what is run, and how it is shown."""

from warpcert.experiments.pack import pack
from warpcert.experiments.page import write_page, write_section
from warpcert.experiments.plan import Plan, load, names
from warpcert.experiments.selection import ALL, Selection
from warpcert.experiments.show import Shown, show
from warpcert.experiments.work import Workshop

__all__ = [
    "ALL",
    "Plan",
    "Selection",
    "Shown",
    "Workshop",
    "load",
    "names",
    "pack",
    "show",
    "write_page",
    "write_section",
]
