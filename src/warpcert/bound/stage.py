"""Stage: one way to bound rows of a layer from below, for a price."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from warpcert.bound.known import Known
from warpcert.core.inputset import InputSet
from warpcert.core.shapes import Float


@dataclass(frozen=True, eq=False)
class Found:
    """Lower bounds (B, R) of rows, with the slopes (by activation) and duals behind them."""

    bound: Float[Tensor, "B R"]
    slopes: Mapping[int, Tensor] = field(default_factory=dict)
    duals: Tensor | None = None


class Stage(ABC):
    """What a stage finds is proved in exact arithmetic, for whatever it starts from."""

    @abstractmethod
    def __call__(
        self,
        known: Known,
        inputs: InputSet,
        rows: Float[Tensor, "B R ..."],
        value: int,
        start: Found | None = None,
    ) -> Found:
        """Bound <row, value> from below over the input set, for rows in float64."""

    @abstractmethod
    def row_bytes(self, known: Known, value: int) -> int:
        """Memory that one row takes, about."""
