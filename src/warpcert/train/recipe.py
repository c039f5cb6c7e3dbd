"""Recipe: how long, how fast and in which order a network is trained."""

from __future__ import annotations

from dataclasses import dataclass, field

from warpcert.train.schedule import Schedule


@dataclass(frozen=True)
class Recipe:
    """The settings of a training run; two runs of one recipe see the same batches.

    With ``seconds`` a run that would not be through its epochs in that time goes through its
    schedule by the clock instead, and so always ends at the full box and with a small rate.
    ``title`` says in words what is learned: a checkpoint of another title is refused.
    """

    epochs: int
    batch: int = 256
    seed: int = 0
    rate: float = 1e-3
    clip: float = 8.0
    augmented: bool = False
    seconds: float | None = None
    schedule: Schedule = field(default_factory=Schedule)
    title: str = ""

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name in ("rate", "clip", "seconds"):
            number = getattr(self, name)
            if number is not None and not 0 < number < float("inf"):
                raise ValueError(f"{name} must be positive and finite, got {number}")
