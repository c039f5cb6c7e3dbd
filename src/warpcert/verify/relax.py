"""Relax: the bent versions of images as a set that a bounder can ask."""

from __future__ import annotations

import math
from typing import Literal, get_args

from torch import Tensor

from warpcert.core.box import Box
from warpcert.core.inputset import InputSet
from warpcert.flow import DeformedImage, Threat, pixel_bounds

Relaxation = Literal["hull", "planes", "box"]


def relax(images: Tensor, threat: Threat, relaxation: Relaxation = "hull") -> InputSet:
    """The set of images (B, C, H, W) bent within the threat, or a larger one that is simpler.

    "hull": every pixel's convex hull, with the flow constraints. "planes": the paper's
    relaxation, pixel intervals and one plane on either side with the flow constraints, solved by
    one linear program for each row; without flow constraints it is the box, since a plane takes
    its pixel no further than its interval. "box": pixel intervals alone.
    """
    if relaxation not in get_args(Relaxation):
        raise ValueError(f"relaxation must be 'hull', 'planes' or 'box', got {relaxation!r}")
    if relaxation == "hull":
        return DeformedImage(images, threat)
    if relaxation == "planes" and threat.gamma < math.inf:
        from warpcert.solve import Polyhedral  # noqa: PLC0415 - the others need no solver

        return Polyhedral(DeformedImage(images, threat, relaxation="planes"))
    return Box(pixel_bounds(images, threat))
