"""rival_margins: how far the label is ahead of the class next to it."""

from __future__ import annotations

import math

from torch import Tensor

from warpcert.core.shapes import Float, Int


def rival_margins(
    scores: Float[Tensor, "B classes"], labels: Int[Tensor, " B"]
) -> tuple[Float[Tensor, " B"], Int[Tensor, " B"]]:
    """The label's score minus the highest other one, and whose that is."""
    others, rivals = scores.scatter(1, labels[:, None], -math.inf).max(1)
    return scores.gather(1, labels[:, None]).squeeze(1) - others, rivals
