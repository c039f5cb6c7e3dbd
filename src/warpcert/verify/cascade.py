"""Cascade: steps in order, cheapest first, until nothing is undecided or the time is up."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from warpcert.core.clock import TimeUp, left, limited
from warpcert.core.memory import is_shortage, release
from warpcert.verify.docket import Docket
from warpcert.verify.step import Step


@dataclass(frozen=True)
class Cascade:
    """Steps, and ``timeout``: seconds for each image, shared by images that are tried together.

    What a step has not finished when the time is up is lost, and what steps before it have proved
    stays. A step that runs out of memory, even for a single row, is passed over.
    """

    steps: Sequence[Step]
    timeout: float | None = None

    def __call__(self, docket: Docket) -> None:
        """Decide what can be decided."""
        seconds = math.inf if self.timeout is None else self.timeout * len(docket.labels)
        with limited(seconds):
            for step in self.steps:
                which = docket.undecided
                if not len(which):
                    return
                start = time.perf_counter()
                trouble = self._try(step, docket, which)
                docket.spend(which, step.name, time.perf_counter() - start)
                if trouble:
                    docket.excuse(trouble)
                if trouble and left() < 0:
                    return

    def _try(self, step: Step, docket: Docket, which: Tensor) -> str:
        """Run one step; say what stopped it, if anything did."""
        try:
            step(docket, which)
        except TimeUp:
            return f"the time limit of {self.timeout:g} s for an image ended the step {step.name}"
        except (RuntimeError, MemoryError) as error:
            if not is_shortage(error):
                raise
            release(docket.images.device)
            return f"the step {step.name} ran out of memory"
        return ""
