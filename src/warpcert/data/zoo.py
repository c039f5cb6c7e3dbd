"""The zoo: networks that come with the package or can be made, and how each is made.

All that is known of them is in `weights/zoo.json`, which `python -m warpcert.train.zoo publish`
writes from what was measured.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

FOLDER = Path(__file__).parent / "weights"
INDEX = "zoo.json"


@dataclass(frozen=True)
class Counts:
    """Images that are certified, of those that are correct, of all."""

    certified: int
    correct: int
    all: int

    def __str__(self) -> str:
        return f"{self.certified} / {self.correct} / {self.all}"


@dataclass(frozen=True)
class Specimen:
    """A network of the zoo.

    ``test`` counts the 10,000 test images, certified by interval propagation against ``threat``;
    ``test_by_delta`` likewise against bending by so many pixels (norm inf, gamma inf), ``bundled``
    the first hundred. ``command`` made it, with the loss ``training`` against ``trained_for``. One
    that does not ship is made by the command alone.
    """

    name: str
    dataset: str
    architecture: str
    training: str
    trained_for: str
    threat: str
    test: Counts
    test_by_delta: Mapping[str, Counts]
    bundled: Counts
    bytes: int
    sha256: str
    command: str
    made_on: str
    ships: bool = True

    @property
    def accuracy(self) -> float:
        """The share of test images that are classified rightly."""
        return self.test.correct / self.test.all

    @property
    def certified(self) -> float:
        """The share of all test images that are certified against the threat."""
        return self.test.certified / self.test.all

    @property
    def path(self) -> Path:
        """Its ONNX file; one that was changed is refused."""
        if not self.ships:
            raise ValueError(
                f"{self.name} is too large to come with the package: make it with "
                f"'{self.command} --out FOLDER' and name FOLDER/network.onnx"
            )
        path = FOLDER / f"{self.name}.onnx"
        try:
            found = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise ValueError(f"{path} cannot be read ({error.strerror}): install again") from None
        if found != self.sha256:
            raise ValueError(f"{path} is not the file that was shipped: install warpcert again")
        return path


def _specimen(name: str, known: dict[str, Any]) -> Specimen:
    rest = {key: known[key] for key in known.keys() - {"test", "test_by_delta", "bundled"}}
    deltas = {delta: Counts(**counts) for delta, counts in known["test_by_delta"].items()}
    return Specimen(
        name=name,
        test=Counts(**known["test"]),
        test_by_delta=MappingProxyType(deltas),
        bundled=Counts(**known["bundled"]),
        **rest,
    )


def _read() -> dict[str, Specimen]:
    index = json.loads((FOLDER / INDEX).read_text(encoding="utf-8"))
    return {name: _specimen(name, known) for name, known in index.items()}


ZOO: Mapping[str, Specimen] = MappingProxyType(_read())
