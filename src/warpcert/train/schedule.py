"""Schedule: how hard training is, and how fast, as it goes on."""

from __future__ import annotations

from dataclasses import dataclass

_SOFT = 0.25  # the part of the ramp that is a parabola


@dataclass(frozen=True)
class Schedule:
    """Everything that changes while training, as functions of its progress from 0 to 1.

    Until ``warm`` only clean images count. From there to ``full`` the box grows to its whole size
    and ``kappa`` falls from 1 to ``last_kappa``. From ``decay`` on the learning rate falls to 0.
    """

    warm: float = 0.02
    full: float = 0.5
    decay: float = 0.6
    last_kappa: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.warm < self.full <= 1 or not 0 <= self.decay < 1:
            raise ValueError(
                "a schedule needs 0 <= warm < full <= 1 and 0 <= decay < 1, "
                f"got {self.warm}, {self.full}, {self.decay}"
            )
        if not 0 <= self.last_kappa <= 1:
            raise ValueError(f"last_kappa must be between 0 and 1, got {self.last_kappa}")

    def strength(self, progress: float) -> float:
        """The part of the box's full size: 0, then a parabola that turns into a line, then 1."""
        t = self._ramp(progress)
        steepness = 1 / (_SOFT * (2 - _SOFT))  # so that the line ends in 1
        if t < _SOFT:
            return steepness * t * t
        return min(1.0, steepness * _SOFT * (2 * t - _SOFT))

    def kappa(self, progress: float) -> float:
        """The weight of clean images in the loss."""
        return 1 - (1 - self.last_kappa) * self._ramp(progress)

    def rate(self, progress: float) -> float:
        """The part of the full learning rate."""
        return min(1.0, max(0.0, (1 - progress) / (1 - self.decay)))

    def _ramp(self, progress: float) -> float:
        """0 until `warm`, 1 from `full` on, a line between them."""
        return min(1.0, max(0.0, (progress - self.warm) / (self.full - self.warm)))
