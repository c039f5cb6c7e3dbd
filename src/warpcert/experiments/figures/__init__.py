"""The figures: data in, one picture out; nothing is read or computed elsewhere."""

from warpcert.experiments.figures.bent import Bent, bend, find_worst
from warpcert.experiments.figures.comparison import Pane, Strip, draw_comparison
from warpcert.experiments.figures.decided import draw_decided
from warpcert.experiments.figures.headline import Beside, draw_headline
from warpcert.experiments.figures.introduction import draw_introduction
from warpcert.experiments.figures.overview import draw_overview
from warpcert.experiments.figures.relaxations import Bars, draw_relaxations
from warpcert.experiments.figures.smoothness import draw_smoothness

__all__ = [
    "Bars",
    "Bent",
    "Beside",
    "Pane",
    "Strip",
    "bend",
    "draw_comparison",
    "draw_decided",
    "draw_headline",
    "draw_introduction",
    "draw_overview",
    "draw_relaxations",
    "draw_smoothness",
    "find_worst",
]
