"""Attack: members of a threat that a network finds hard, to train on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from warpcert.core.shapes import Float, Int
from warpcert.train.surroundings import Surroundings


@dataclass(frozen=True)
class Attack:
    """Projected gradient ascent of the cross entropy, over the moves of a threat.

    ``steps`` steps of ``size`` along the signs of the gradient, in parts of the threat's reach;
    after each, `Surroundings.limit`. (Madry et al., "Towards Deep Learning Models Resistant to
    Adversarial Attacks", 2018; for fields as in the paper.)
    """

    steps: int = 8
    size: float = 0.25

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"an attack needs at least 1 step, got {self.steps}")
        if not 0 < self.size <= 2:
            raise ValueError(f"an attack's step must be in (0, 2], got {self.size}")

    def __call__(
        self,
        module: nn.Module,
        images: Float[Tensor, "B C H W"],
        labels: Int[Tensor, "B"],
        surroundings: Surroundings,
        moves: Float[Tensor, "B ..."],
        strength: float | Tensor = 1.0,
    ) -> Float[Tensor, "B C H W"]:
        """Attacked images, found from these moves on; every one is a member of the threat.

        The network is asked in eval mode: attacks do not move a batch normalisation's averages.
        """
        was_training = module.training
        module.eval()
        moves = surroundings.limit(moves.detach())
        with torch.enable_grad():
            for _ in range(self.steps):
                moves.requires_grad_()
                scores = module(surroundings.member(images, moves, strength))
                loss = F.cross_entropy(scores, labels, reduction="sum")
                (slope,) = torch.autograd.grad(loss, moves)
                moves = surroundings.limit(moves.detach() + self.size * slope.sign())
        module.train(was_training)
        return surroundings.member(images, moves, strength).detach()
