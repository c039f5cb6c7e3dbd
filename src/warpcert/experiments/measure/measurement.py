"""Measurement: something to be measured that is no verdict."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any


class Measurement(ABC):
    """Something to measure case by case; rows are a case and what was measured of it.

    Options are in the object. Cases and what is measured of them can be written as JSON.
    """

    @classmethod
    def whole(cls, root: Path | None) -> Measurement:  # noqa: ARG003 - for those that need data sets
        """With all cases; whole data sets are in ``root``."""
        return cls()

    @classmethod
    @abstractmethod
    def quick(cls) -> Measurement:
        """With the cases that take seconds."""

    @abstractmethod
    def cases(self) -> list[dict[str, Any]]:
        """All cases; each names completely what is measured, wherever that is done."""

    @abstractmethod
    def __call__(self, case: dict[str, Any], device: str) -> dict[str, Any]:
        """Measure one case on a device, "cpu" or "cuda"."""
