"""Mixed: margins by programs with integers, exact for piecewise linear networks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from torch import Tensor

from warpcert.core import rounding
from warpcert.core.clock import left
from warpcert.core.polytope import Floats
from warpcert.solve.encoding import Encoding
from warpcert.solve.engine import Aim, Engine
from warpcert.solve.highs import Highs
from warpcert.solve.parallel import Cancelled
from warpcert.solve.program import Solution, Status

FIRM = 2.0
"""A search goes on until its word is so many times the margin of safety above zero."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What came of one margin.

    ``bound`` is the solver's word less the margin of safety, or -inf: believed, not proved.
    ``point`` is the best that it has found, of value ``value``; ``end`` says what ended the search.
    """

    bound: float
    value: float
    point: Floats | None
    end: str


@dataclass(frozen=True)
class Mixed:
    """Minimise margins over exact encodings, until their sign is known.

    ``safety`` is how many times the solver's tolerance, times the sum of the linear program's
    |duals|, its lower bound must be above zero to count.
    """

    engine: Engine = field(default_factory=Highs)
    safety: float = rounding.BELIEVED

    def check(self, encoding: Encoding, members: list[Tensor]) -> str:
        """Why an encoding is not to be asked; nothing if it may be.

        Members must be points of it, else `Unsound` is raised; and the solver must find a point
        when it is asked for any. For an empty program everything is a bound.
        """
        missing = self.engine.missing()
        if missing:
            return missing
        for image in members:
            encoding.check_member(image)
        nothing = replace(encoding.program, cost=np.zeros_like(encoding.program.lower))
        starts = [_start(encoding, image) for image in members[-1:]]
        aim = Aim(seconds=max(0.0, left()), start=starts[0] if starts else None)
        found = self.engine.solve(nothing, aim)
        if found.point is not None:
            return ""
        return self._end(found) or f"{self.engine.name} finds no point at all"

    def margin_of_safety(self, relaxed: Solution) -> float:
        """What is taken off the solver's word, from the same margin's linear program.

        Without its duals nothing is known of what a tolerance does, so that everything is.
        """
        if relaxed.duals is None:
            return math.inf
        size = float(np.abs(relaxed.duals).sum())
        return self.safety * rounding.FEASIBLE * (1 + size)

    def __call__(
        self,
        encoding: Encoding,
        cost: Floats,
        relaxed: Solution,
        *,
        start: Tensor | None = None,
        time_limit: float = math.inf,
        cancelled: Cancelled | None = None,
    ) -> Answer:
        """Minimise one cost; ``relaxed`` is its linear program's solution, ``start`` a member."""
        off = self.margin_of_safety(relaxed)
        if not off < math.inf:
            return Answer(-math.inf, math.inf, None, "the linear program was not solved")
        aim = Aim(
            above=FIRM * off,
            below=-off,
            seconds=max(0.0, min(time_limit, left())),
            start=None if start is None else _start(encoding, start),
            cancelled=cancelled or (lambda: False),
        )
        found = self.engine.solve(replace(encoding.program, cost=cost), aim)
        value = math.inf if found.point is None else float(cost @ found.point)
        known = found.status in (Status.OPTIMAL, Status.STOPPED, Status.TIMEOUT)
        bound = found.claim - off if known and found.claim < math.inf else -math.inf
        if not bound <= value:  # a lower bound above a point contradicts itself; NaN does, too
            bound = -math.inf
        return Answer(bound, value, found.point, self._end(found))

    def _end(self, found: Solution) -> str:
        if found.status is Status.INFEASIBLE:
            return f"{self.engine.name} says that there is no image, where there is one"
        if found.status is Status.FAILED:
            return found.trouble or f"{self.engine.name} failed"
        if found.status is Status.TIMEOUT:
            return f"{self.engine.name} ran out of time"
        return ""


def _start(encoding: Encoding, image: Tensor) -> Floats:
    """A member's pattern of signs: its binaries, and nothing else, which the solver completes."""
    point, _ = encoding.point(image)
    start = np.full_like(point, np.nan)
    if encoding.program.integral is not None:
        start[encoding.program.integral] = point[encoding.program.integral]
    return start
