"""Run: one network by one engine over a sweep of threats; its rows are one results file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from warpcert.data import load_images
from warpcert.experiments.selection import WHOLE
from warpcert.flow import Threat
from warpcert.net import load_network
from warpcert.run import Apart, Desk, Gallery, Here, NetworkSource, Shard, Task
from warpcert.run.decider import Decider
from warpcert.run.source import hash_network
from warpcert.verify import Relaxation


@final
@dataclass(frozen=True)
class Subject:
    """A network of ours, the published one it is like, and what people call it.

    One of others is known by the SHA-256 of its file, wherever that is; ``mean`` and ``std`` are
    what its input is normalised with.
    """

    name: str
    like: str
    shown: str
    sha256: str = ""
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None

    def locate(self, folder: Path | None) -> str:
        """A name of the zoo, or the path of the file in a folder of others' networks."""
        if not self.sha256:
            return self.name
        for path in sorted(folder.glob("*.onnx")) if folder is not None else ():
            if hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256:
                return str(path)
        raise ValueError(
            f"{self.shown} does not come with the package: put its file (SHA-256 {self.sha256}) "
            "into a folder, and name that with --networks DIR"
        )


@final
@dataclass(frozen=True)
class Engine:
    """A method with its options; ``timeout`` are seconds for an image.

    ``programs`` says that it needs a solver, and so gains nothing from a GPU.
    """

    name: str
    method: str
    shown: str
    relaxation: Relaxation = "hull"
    intersect: bool = True
    timeout: float | None = None
    programs: bool = False


@final
@dataclass(frozen=True)
class Run:
    """A network on images, every delta with every gamma of one norm, by one engine."""

    subject: Subject
    engine: Engine
    images: str
    norm: float
    deltas: tuple[float, ...]
    gammas: tuple[float, ...]
    part: str = ""

    @property
    def network(self) -> str:
        """The name of the network."""
        return self.subject.name

    @property
    def name(self) -> str:
        """What its results file is called."""
        part = f".{self.part}" if self.part else ""
        return f"{self.network}.{self.engine.name}.T{self.norm:g}{part}"

    def path(self, folder: Path, shard: Shard = WHOLE) -> Path:
        """Its results file in the folder of its plan; every share has one of its own."""
        share = "" if shard.count == 1 else f".{shard.number}-of-{shard.count}"
        return folder / f"{self.name}{share}.jsonl"

    def gallery(self, root: Path | None = None) -> Gallery:
        """Its images."""
        return Gallery.of(self.images, *load_images(self.images, root=root))

    def task(self, gallery: Gallery, networks: Path | None = None) -> Task:
        """What is asked of these images."""
        known = self.subject
        name = known.locate(networks)
        threats = [
            Threat(self.norm, delta, gamma) for delta in self.deltas for gamma in self.gammas
        ]
        return Task.of(
            NetworkSource(name, hash_network(name), known.mean, known.std),
            gallery,
            threats,
            self.engine.method,
            relaxation=self.engine.relaxation,
            timeout=self.engine.timeout,
            intersect=self.engine.intersect,
        )

    def decider(self, task: Task, devices: Sequence[str]) -> Decider:
        """A process for each device, or this one alone on one CPU.

        Where the time of an image is limited, each comes alone, so that its seconds are its own.
        """
        source, most = task.network, None if task.timeout is None else 1
        network = load_network(source.name, mean=source.mean, std=source.std)
        if self.engine.programs:
            devices = ["cpu"] * len(devices)
        if list(devices) == ["cpu"]:
            return Here(Desk(task, network), most)
        return Apart(task, network, devices, most)
