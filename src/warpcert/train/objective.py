"""OBJECTIVES: what training can minimise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from warpcert.train.attack import Attack
from warpcert.train.crown import linear_reach
from warpcert.train.interval import worst_logits
from warpcert.train.loss import mix
from warpcert.train.regulariser import penalty
from warpcert.train.surroundings import Ends, Surroundings
from warpcert.train.trace import Trace


@dataclass(frozen=True, eq=False)
class Batch:
    """Images (B, C, H, W), labels (B,), and random moves to begin an attack with, or none."""

    images: Tensor
    labels: Tensor
    moves: Tensor | None = None


@dataclass(frozen=True)
class Moment:
    """Where training stands: see `Schedule`. Numbers, or tensors of one number on the device."""

    strength: float | Tensor
    kappa: float | Tensor
    beta: float | Tensor
    rate: float | Tensor


@dataclass(frozen=True)
class Objective(ABC):
    """A number to minimise for a batch.

    ``attack`` and ``regulariser`` (the weight of `penalty` at strength 0) serve those that use
    them; ``small`` is SABR's part of the box.
    """

    attack: Attack = Attack()  # noqa: RUF009 - it is frozen
    regulariser: float = 0.0
    small: float = 0.4

    attacks: ClassVar[bool] = False
    certifies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.regulariser >= 0:
            raise ValueError(f"regulariser must be at least 0, got {self.regulariser}")
        if not 0 < self.small <= 1:
            raise ValueError(f"small must be in (0, 1], got {self.small}")

    @abstractmethod
    def __call__(
        self, module: nn.Sequential, batch: Batch, surroundings: Surroundings, now: Moment
    ) -> Tensor:
        """The loss of the batch, a scalar."""

    def attacked(
        self, module: nn.Sequential, batch: Batch, surroundings: Surroundings, now: Moment
    ) -> Tensor:
        """The batch's images after the attack."""
        if batch.moves is None:
            raise ValueError(f"{type(self).__name__} needs moves to begin its attack with")
        return self.attack(
            module, batch.images, batch.labels, surroundings, batch.moves, now.strength
        )

    def robust(
        self, module: nn.Sequential, batch: Batch, points: Tensor, box: Ends, now: Moment
    ) -> Tensor:
        """``kappa`` of the cross entropy of the points, the rest of the box's; and the penalty."""
        trace = Trace()
        scores, reach = worst_logits(module, points, *box, batch.labels, trace)
        if self.regulariser:
            weight = self.regulariser * (1 - now.strength)
            return mix(now.kappa, scores, reach, batch.labels) + weight * penalty(trace)
        return mix(now.kappa, scores, reach, batch.labels)


class Plain(Objective):
    """The cross entropy of the images."""

    certifies = False

    def __call__(
        self, module: nn.Sequential, batch: Batch, surroundings: Surroundings, now: Moment
    ) -> Tensor:
        """The cross entropy."""
        del surroundings, now
        return F.cross_entropy(module(batch.images), batch.labels)


class Pgd(Objective):
    """The cross entropy of attacked images (Madry et al. 2018)."""

    attacks, certifies = True, False

    def __call__(
        self, module: nn.Sequential, batch: Batch, surroundings: Surroundings, now: Moment
    ) -> Tensor:
        """The cross entropy after the attack."""
        attacked = self.attacked(module, batch, surroundings, now)
        return F.cross_entropy(module(attacked), batch.labels)


class Ibp(Objective):
    """Images and boxes (Gowal et al., "On the Effectiveness of Interval Bound Propagation", 2018).

    ``kappa`` is the weight of the images.
    """

    def __call__(
        self, module: nn.Sequential, batch: Batch, surroundings: Surroundings, now: Moment
    ) -> Tensor:
        """The mixture."""
        box = surroundings(batch.images, now.strength)
        return self.robust(module, batch, batch.images, box, now)


class CrownIbp(Objective):
    """Images and boxes, the margins also bounded by linear functions (Zhang et al. 2020).

    ``beta`` is the weight of the linear bounds among the bounds, ``kappa`` that of the images. A
    mixture of two upper bounds is one.
    """

    def __call__(
        self, module: nn.Sequential, batch: Batch, surroundings: Surroundings, now: Moment
    ) -> Tensor:
        """The mixture."""
        trace = Trace()
        box = surroundings(batch.images, now.strength)
        scores, reach = worst_logits(module, batch.images, *box, batch.labels, trace)
        linear = linear_reach(module, trace, batch.labels)
        reach = now.beta * linear + (1 - now.beta) * reach
        return mix(now.kappa, scores, reach, batch.labels)


class MtlIbp(Objective):
    """Attacked images and boxes (De Palma et al., "Expressive Losses for Verified Robustness").

    ``kappa`` is the weight of the attacked images: 1 - alpha in the words of that paper (2024).
    """

    attacks = True

    def __call__(
        self, module: nn.Sequential, batch: Batch, surroundings: Surroundings, now: Moment
    ) -> Tensor:
        """The mixture."""
        attacked = self.attacked(module, batch, surroundings, now)
        box = surroundings(batch.images, now.strength)
        return self.robust(module, batch, attacked, box, now)


class Sabr(Objective):
    """Small boxes around attacked images (Mueller et al., "Certified Training: Small Boxes...").

    Each has ``small`` of the width of the whole box, and lies within it (2023); ``kappa`` is the
    weight of the attacked images themselves.
    """

    attacks = True

    def __call__(
        self, module: nn.Sequential, batch: Batch, surroundings: Surroundings, now: Moment
    ) -> Tensor:
        """The mixture."""
        attacked = self.attacked(module, batch, surroundings, now)
        box = surroundings(batch.images, now.strength)
        return self.robust(module, batch, attacked, shrink(box, attacked, self.small), now)


def shrink(box: Ends, points: Tensor, part: float) -> Ends:
    """Boxes with a part of the width, as near to the points as they get within the boxes.

    Their centres are at least the small radius away from the ends; the last cut is for rounding.
    """
    lower, upper = box
    radius = part * (upper - lower) / 2
    centre = torch.maximum(torch.minimum(points, upper - radius), lower + radius)
    return torch.maximum(centre - radius, lower), torch.minimum(centre + radius, upper)


OBJECTIVES: Mapping[str, type[Objective]] = MappingProxyType(
    {
        "plain": Plain,
        "pgd": Pgd,
        "ibp": Ibp,
        "crown-ibp": CrownIbp,
        "mtl-ibp": MtlIbp,
        "sabr": Sabr,
    }
)
