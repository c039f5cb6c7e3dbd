"""Accuracy: how many test images a network classifies rightly."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch

from warpcert.core.memory import chunk_size
from warpcert.data import ZOO, load_images
from warpcert.experiments.measure.measurement import Measurement
from warpcert.net import load_network

WORKING_ARRAYS = 4
"""Float64 arrays of every layer's size that a forward pass needs for one image, at most."""


@final
@dataclass(frozen=True)
class Accuracy(Measurement):
    """Correct images of networks of the zoo that come with the package.

    With `root`, a folder with the data sets' files, all test images are counted, else the first
    hundred, which are bundled. `networks` are all that ship, unless some are named.
    """

    networks: tuple[str, ...] = tuple(name for name, known in ZOO.items() if known.ships)
    root: str | os.PathLike[str] | None = None

    @classmethod
    def whole(cls, root: Path | None) -> Accuracy:
        """All test images, where they are at hand."""
        return cls(root=root)

    @classmethod
    def quick(cls) -> Accuracy:
        """The bundled images."""
        return cls()

    def cases(self) -> list[dict[str, Any]]:
        whole = self.root is not None
        return [
            {
                "measure": "accuracy",
                "network": name,
                "sha256": ZOO[name].sha256,
                "images": f"{ZOO[name].dataset}/test" if whole else f"{ZOO[name].dataset}:0-99",
            }
            for name in self.networks
        ]

    def __call__(self, case: dict[str, Any], device: str) -> dict[str, Any]:
        network = load_network(case["network"]).to(device, torch.float64)
        images, labels = load_images(case["images"], root=self.root)
        size = chunk_size(8 * WORKING_ARRAYS * network.entries, network.device)
        correct = 0
        with torch.no_grad():
            for some, named in zip(images.split(size), labels.split(size), strict=True):
                scores = network(some.to(device, torch.float64))
                correct += int((scores.argmax(1).cpu() == named).sum())
        return {"correct": correct, "n": len(images), "accuracy": correct / len(images)}
