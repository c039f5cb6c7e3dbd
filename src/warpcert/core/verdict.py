"""Verdict: the answer for one image."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from torch import Tensor

from warpcert.core.errors import Unsound


class Status(StrEnum):
    """What is known of an image."""

    CERTIFIED = "certified"
    FALSIFIED = "falsified"
    UNKNOWN = "unknown"
    MISCLASSIFIED = "misclassified"


@dataclass(frozen=True, eq=False)
class Verdict:
    """Certified: no field of the threat changes the label. Falsified: ``field`` (H, W, 2) does.

    ``margin``, in logits, is the proved lower bound of the score of ``label`` minus that of
    ``rival``, the class against which it is worst; for a falsified image the value at the
    field, for a misclassified one that of the image as it is. ``reached`` is the lowest margin that
    an attack has found, so the true one is between the two. ``method`` decided in ``seconds`` (an
    image's share, where many were treated together), of which ``spent`` says what each step took;
    ``reason`` says why nothing is known, or what a certificate rests on besides proof. ``proof`` is
    what a tree has closed, where that was asked for.
    """

    status: Status
    label: int
    rival: int
    margin: float
    method: str
    seconds: float
    reason: str = ""
    field: Tensor | None = None
    reached: float = math.inf
    spent: Mapping[str, float] = dataclasses.field(default_factory=dict)
    proof: object | None = None

    def __post_init__(self) -> None:
        """Refuse claims that their evidence does not carry."""
        if self.status is Status.CERTIFIED and not self.margin > 0:
            raise Unsound(f"an image is certified with the margin {self.margin}")
        if self.status is Status.FALSIFIED and (self.field is None or not self.margin < 0):
            raise Unsound("an image is falsified without a field that changes its label")
        if self.status is Status.UNKNOWN and not self.reason:
            raise Unsound("an image is unknown for no reason")
        if math.isnan(self.margin):
            raise Unsound("a margin is NaN; what is not known is -inf")
        if self.status is not Status.FALSIFIED and self.field is not None:
            raise Unsound(f"a field changes an image's label, and the image is {self.status}")

    @property
    def gap(self) -> float:
        """How far the lowest margin found is above the proved one; 0 when decided."""
        return self.reached - self.margin if self.status is Status.UNKNOWN else 0.0
