"""Task: everything that decides the verdicts of a run."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast, final

from warpcert import __version__
from warpcert.flow import Threat
from warpcert.run.gallery import Gallery
from warpcert.run.item import Item
from warpcert.run.number import read_number, write_number
from warpcert.run.source import NetworkSource
from warpcert.verify import Relaxation

Border = Literal["clamp", "inside"]


@final
@dataclass(frozen=True)
class Task:
    """A network, images, threats and a method: one problem for each image, delta and gamma."""

    network: NetworkSource
    images: str
    images_sha256: str
    indices: tuple[int, ...]
    norm: float
    deltas: tuple[float, ...]
    gammas: tuple[float, ...]
    border: Border = "clamp"
    method: str = "auto"
    relaxation: Relaxation = "hull"
    timeout: float | None = None
    version: str = __version__
    solver: str = "highs"
    intersect: bool = True

    def __post_init__(self) -> None:
        """Refuse a sweep that is empty or names a number twice, and a time that is none."""
        for name, numbers in (("deltas", self.deltas), ("gammas", self.gammas)):
            if not numbers or len(set(numbers)) < len(numbers):
                raise ValueError(f"{name} must be numbers, each once, got {list(numbers)}")
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise ValueError(f"timeout must be a number of seconds > 0, got {self.timeout}")

    @staticmethod
    def of(  # noqa: PLR0913 - as `certify` has them
        network: NetworkSource,
        gallery: Gallery,
        threats: list[Threat],
        method: str = "auto",
        *,
        relaxation: Relaxation = "hull",
        timeout: float | None = None,
        solver: str = "highs",
        intersect: bool = True,
    ) -> Task:
        """The task of certifying a gallery under threats: all deltas with all gammas."""
        first = threats[0]
        return Task(
            network,
            gallery.spec,
            gallery.sha256,
            gallery.indices,
            float(first.norm),
            tuple(dict.fromkeys(threat.delta for threat in threats)),
            tuple(dict.fromkeys(threat.gamma for threat in threats)),
            first.border,
            method,
            relaxation,
            timeout,
            solver=solver,
            intersect=intersect,
        )

    @cached_property
    def digest(self) -> str:
        """A short hash of what decides the verdicts; names and paths do not."""
        value = self.json | {"network": self.network.contents}
        del value["images"], value["indices"]  # the images' own hash covers them
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def threats(self) -> list[Threat]:
        """Every delta with every gamma, in order."""
        return [self.threat(delta, gamma) for delta in self.deltas for gamma in self.gammas]

    def threat(self, delta: float, gamma: float) -> Threat:
        """One of the threats."""
        return Threat(self.norm, delta, gamma, self.border)

    @property
    def items(self) -> list[Item]:
        """All problems, in order: by threat, then by image."""
        return [
            Item(delta, gamma, index, place)
            for delta in self.deltas
            for gamma in self.gammas
            for place, index in enumerate(self.indices)
        ]

    @property
    def json(self) -> dict[str, Any]:
        """The task as JSON."""
        return {
            "network": self.network.json,
            "images": self.images,
            "images_sha256": self.images_sha256,
            "indices": list(self.indices),
            "norm": write_number(self.norm),
            "deltas": [write_number(delta) for delta in self.deltas],
            "gammas": [write_number(gamma) for gamma in self.gammas],
            "border": self.border,
            "method": self.method,
            "relaxation": self.relaxation,
            "timeout": self.timeout,
            "version": self.version,
            **({} if self.solver == "highs" else {"solver": self.solver}),
            **({} if self.intersect else {"intersect": False}),
        }

    @staticmethod
    def from_json(value: Any) -> Task:
        """The task that `json` wrote; what is not one is a `ValueError`."""
        try:
            return Task(
                NetworkSource.from_json(value["network"]),
                str(value["images"]),
                str(value["images_sha256"]),
                tuple(int(index) for index in value["indices"]),
                read_number(value["norm"]),
                tuple(read_number(delta) for delta in value["deltas"]),
                tuple(read_number(gamma) for gamma in value["gammas"]),
                cast(Border, value["border"]),
                str(value["method"]),
                cast(Relaxation, value["relaxation"]),
                None if value["timeout"] is None else read_number(value["timeout"]),
                str(value["version"]),
                str(value.get("solver", "highs")),
                bool(value.get("intersect", True)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a task: {error!r}") from None

    def __str__(self) -> str:
        """What is asked, in one line."""
        sweeps = [
            f"{name} {','.join(f'{value:g}' for value in values)}"
            for name, values in (("delta", self.deltas), ("gamma", self.gammas))
        ]
        return f"{self.network.name} on {self.images}, T{self.norm:g}, {', '.join(sweeps)}"
