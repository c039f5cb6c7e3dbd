"""Attacked: what a search has found, for each image."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from warpcert.core.shapes import Bool, Float, Int


@dataclass(frozen=True, eq=False)
class Attacked:
    """For each image the member of its set with the lowest margin that was met.

    ``parameters`` (B, ...) are float64 and belong to the set as they are stored. ``margins`` are
    the label's score minus that of ``rivals``, the highest of the others, by a forward pass in
    float64; inf where scores are not numbers. Where an image is ``fooled``, its label loses to
    another class in exact arithmetic, too.
    """

    parameters: Float[Tensor, "B ..."]
    margins: Float[Tensor, " B"]
    rivals: Int[Tensor, " B"]
    fooled: Bool[Tensor, " B"]
