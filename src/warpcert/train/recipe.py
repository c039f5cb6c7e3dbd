"""Recipe: how long, how fast and in which order a network is trained."""

from __future__ import annotations

from dataclasses import dataclass, field

from warpcert.train.attack import Attack
from warpcert.train.objective import OBJECTIVES, Objective
from warpcert.train.schedule import Schedule


@dataclass(frozen=True)
class Recipe:
    """The settings of a training run; two runs of one recipe see the same batches.

    ``loss`` is one of `OBJECTIVES`; ``l1`` the weight of the sum of all weights' sizes beside it.
    ``attack``, ``regulariser`` and ``small`` are for the losses that use them. ``title`` says in
    words what is learned: a checkpoint of another title is refused.
    """

    epochs: int
    batch: int = 256
    seed: int = 0
    rate: float = 1e-3
    clip: float = 8.0
    augmented: bool = False
    loss: str = "ibp"
    l1: float = 0.0
    regulariser: float = 0.0
    small: float = 0.4
    attack: Attack = field(default_factory=Attack)
    schedule: Schedule = field(default_factory=Schedule)
    title: str = ""

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name in ("rate", "clip"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be positive and finite, got {getattr(self, name)}")
        if not 0 <= self.l1 < float("inf"):
            raise ValueError(f"l1 must be at least 0 and finite, got {self.l1}")
        if self.loss not in OBJECTIVES:
            raise ValueError(f"loss must be one of {', '.join(OBJECTIVES)}, got {self.loss!r}")
        _ = self.objective  # it has checks of its own

    @property
    def objective(self) -> Objective:
        """What is minimised."""
        return OBJECTIVES[self.loss](self.attack, self.regulariser, self.small)
