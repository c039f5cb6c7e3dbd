"""Schedule: how hard training is, and how fast, as it goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from warpcert.train.objective import Moment

_SOFT = 0.25  # the part of the ramp that is a parabola
_DROP = 0.2  # what a step leaves of the learning rate


@dataclass(frozen=True)
class Schedule:
    """Everything that changes while training, as functions of its progress from 0 to 1.

    Until ``warm`` only clean images count. From there to ``full`` the box grows to its whole size
    and ``kappa`` falls from 1 to ``last_kappa``. The learning rate has one of the `SHAPES`:
    "linear" falls to 0 from ``decay`` on; "step" falls to a fifth at ``decay`` and again half-way
    from there; "cyclic" climbs from ``lowest`` to the full rate and back.
    """

    warm: float = 0.02
    full: float = 0.5
    decay: float = 0.6
    last_kappa: float = 0.5
    shape: str = "linear"
    lowest: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.warm <= self.full <= 1 or not 0 <= self.decay < 1:
            raise ValueError(
                "a schedule needs 0 <= warm <= full <= 1 and 0 <= decay < 1, "
                f"got {self.warm:g}, {self.full:g}, {self.decay:g}"
            )
        if not 0 <= self.last_kappa <= 1:
            raise ValueError(f"kappa must be between 0 and 1, got {self.last_kappa}")
        if self.shape not in SHAPES:
            raise ValueError(f"schedule must be one of {', '.join(SHAPES)}, got {self.shape!r}")
        if not 0 <= self.lowest <= 1:
            raise ValueError(f"the lowest rate must be part of the rate, got {self.lowest}")

    def at(self, progress: float) -> Moment:
        """All of it together."""
        return Moment(
            self.strength(progress), self.kappa(progress), self.beta(progress), self.rate(progress)
        )

    def strength(self, progress: float) -> float:
        """The part of the box's full size: 0, then a parabola that turns into a line, then 1."""
        t = self._ramp(progress)
        steepness = 1 / (_SOFT * (2 - _SOFT))  # so that the line ends in 1
        if t < _SOFT:
            return steepness * t * t
        return min(1.0, steepness * _SOFT * (2 * t - _SOFT))

    def kappa(self, progress: float) -> float:
        """The weight of images, clean or attacked, in the loss."""
        return 1 - (1 - self.last_kappa) * self._ramp(progress)

    def beta(self, progress: float) -> float:
        """The weight of linear bounds among bounds: 1, then down to 0 as the box grows."""
        return 1 - self._ramp(progress)

    def rate(self, progress: float) -> float:
        """The part of the full learning rate."""
        return SHAPES[self.shape](self, progress)

    def _ramp(self, progress: float) -> float:
        """0 until `warm`, 1 from `full` on, a line between them; the two may be one."""
        if progress >= self.full:
            return 1.0
        if progress <= self.warm:
            return 0.0
        return (progress - self.warm) / (self.full - self.warm)


def _linear(schedule: Schedule, progress: float) -> float:
    return min(1.0, max(0.0, (1 - progress) / (1 - schedule.decay)))


def _step(schedule: Schedule, progress: float) -> float:
    falls = (progress >= schedule.decay) + (progress >= (1 + schedule.decay) / 2)
    return float(_DROP**falls)


def _cyclic(schedule: Schedule, progress: float) -> float:
    height = max(0.0, 1 - abs(2 * progress - 1))
    return schedule.lowest + (1 - schedule.lowest) * height


SHAPES: Mapping[str, Callable[[Schedule, float], float]] = MappingProxyType(
    {"linear": _linear, "step": _step, "cyclic": _cyclic}
)
"""The ways of a learning rate."""
