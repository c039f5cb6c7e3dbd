"""Engine: a solver of programs, whichever it is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from warpcert.core.polytope import Floats
from warpcert.solve.program import Program, Solution


@dataclass(frozen=True, eq=False)
class Aim:
    """When a search may end before its end.

    ``above``: once every point is known to cost at least this; points that cost more are not looked
    at, so a program that has no others is no different from one that has none. ``below``: once
    a point costs less. ``seconds``: after that time. ``cancelled`` is asked now and then.
    ``start`` is a point to begin with, NaN where it says nothing.
    """

    above: float = math.inf
    below: float = -math.inf
    seconds: float = math.inf
    start: Floats | None = None
    cancelled: Callable[[], bool] = lambda: False


TO_THE_END = Aim()
"""Nothing ends the search early."""


class Engine(ABC):
    """Hyper-parameters are in the object, data in the call. No answer is believed, see `Solution`.

    Whatever goes wrong inside, licences and numerical trouble included, is a status with a line
    that says so, never an exception.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name and version, for people."""

    @abstractmethod
    def missing(self) -> str:
        """Why it cannot be used here, and how to mend that, in one line; nothing if it can."""

    @abstractmethod
    def solve(self, program: Program, aim: Aim = TO_THE_END) -> Solution:
        """Minimise, with integers where the program has them."""
