"""Scene: one image's problem, and the sets of bent images that a tree bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from warpcert.core.box import Box
from warpcert.core.inputset import InputSet
from warpcert.core.shapes import Float
from warpcert.flow import DeformedImage, Region, Threat
from warpcert.net import Hinge, Network
from warpcert.verify.branch.cell import Cell
from warpcert.verify.branch.effort import Effort


@dataclass(frozen=True, eq=False)
class Scene:
    """A network, an image (1, C, H, W), a threat and the margins' rows, and how hard to try."""

    network: Network
    image: Float[Tensor, "1 C H W"]
    threat: Threat
    rows: Float[Tensor, "1 S classes"]
    effort: Effort

    @cached_property
    def every(self) -> DeformedImage:
        """All images that the threat makes."""
        return DeformedImage(self.image, self.threat)

    @property
    def exact(self) -> bool:
        """Whether the set is its box: then there is nothing to cut."""
        return self.every.boxed

    @property
    def coupled(self) -> bool:
        """Whether the pixels' coupling is looked at, by duals."""
        return self.every.searches and self.effort.duals

    @property
    def fields(self) -> bool:
        """Whether the field is cut."""
        return self.effort.fields and not self.exact

    @property
    def sets(self) -> bool:
        """Whether the set says more than its box."""
        return self.effort.duals and not self.exact

    @cached_property
    def relus(self) -> bool:
        """Whether neurons are decided: all of them must be hinges."""
        activations = self.network.activations
        nodes = (self.network.steps[k - 1].node for k in activations)
        return self.effort.relus and all(isinstance(node, Hinge) for node in nodes)

    @cached_property
    def scale(self) -> float:
        """The size of the scores."""
        return 1.0 + float(self.network(self.image.to(torch.float64)).abs().amax())

    def inputs(self, cells: Sequence[Cell], coupled: bool) -> InputSet:
        """The bent images of cells; with free pixels, or as the threat couples them."""
        free = replace(self.threat, gamma=math.inf)
        found = self.bent(cells, self.threat if coupled and self.coupled else free)
        return Box(found.box) if found.boxed else found

    def bent(self, cells: Sequence[Cell], threat: Threat) -> DeformedImage:
        """The image, bent within the cells of a threat."""
        if len(cells) == 1 and not cells[0].level:
            return DeformedImage(self.image, threat)
        lower = torch.stack([cell.lower for cell in cells])[:, None]
        upper = torch.stack([cell.upper for cell in cells])[:, None]
        region = Region(float(threat.norm), threat.delta, lower, upper)
        images = self.image.expand(len(cells), -1, -1, -1)
        return DeformedImage(images, threat, region=region)
