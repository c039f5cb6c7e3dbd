"""Input sets to solve programs over."""

from __future__ import annotations

from dataclasses import dataclass

from warpcert import DeformedImage
from warpcert.core.polytope import Polytope
from warpcert.flow.polytope import Relaxation, polytope


@dataclass(frozen=True, eq=False)
class Relaxed(DeformedImage):
    """Bent images with a relaxation of one's choice."""

    relaxation: Relaxation = "hull"

    def polytope(self) -> list[Polytope]:
        return polytope(self.images, self.threat, self.relaxation)
