"""robust_loss: what certified training minimises."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from warpcert.core.shapes import Float, Int
from warpcert.train.interval import Note, quiet, worst_logits


@dataclass(frozen=True, eq=False)
class Loss:
    """The number to minimise, and for each image whether it is right and whether certified."""

    total: Tensor
    correct: Tensor
    certified: Tensor


def robust_loss(
    module: nn.Sequential,
    images: Float[Tensor, "B C H W"],
    box: tuple[Float[Tensor, "B C H W"], Float[Tensor, "B C H W"]],
    labels: Int[Tensor, "B"],
    kappa: float | Tensor,
    note: Note = quiet,
) -> Loss:
    """``kappa`` times the cross entropy of the images, the rest that of the worst of their boxes.

    Cross entropy grows with every score but the label's, so that of the worst logits is at least
    that of any image in the box.
    """
    scores, reach = worst_logits(module, images, *box, labels, note)
    total = mix(kappa, scores, reach, labels)
    others = reach.detach().scatter(1, labels[:, None], -float("inf"))
    return Loss(total, scores.detach().argmax(1) == labels, others.amax(1) < 0)


def mix(
    kappa: float | Tensor,
    scores: Float[Tensor, "B K"],
    reach: Float[Tensor, "B K"],
    labels: Int[Tensor, "B"],
) -> Tensor:
    """``kappa`` times the cross entropy of scores, the rest that of the worst ones."""
    return kappa * F.cross_entropy(scores, labels) + (1 - kappa) * F.cross_entropy(reach, labels)
