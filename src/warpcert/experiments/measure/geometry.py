"""GeometryTimes: how long bounds and planes take, from a digit to a photograph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from statistics import median
from typing import Any, final

import torch
from torch import Tensor

from warpcert.experiments.measure.measurement import Measurement
from warpcert.experiments.measure.pictures import load_image, tell_origin
from warpcert.experiments.measure.stopwatch import time_runs
from warpcert.flow import Threat, pixel_bounds, pixel_planes
from warpcert.run.number import read_number, write_number

WORK: dict[str, Callable[[Tensor, Threat], object]] = {
    "intervals": pixel_bounds,
    "planes": pixel_planes,
}


@final
@dataclass(frozen=True)
class GeometryTimes(Measurement):
    """Seconds for one image: its intervals under each norm, and its planes, in float32.

    An MNIST digit, a CIFAR-10 photograph, and one enlarged to `side` pixels in place of an
    ImageNet one. The median of `runs`, after one to warm up.
    """

    norms: tuple[float, ...] = (1.0, 2.0, inf)
    plane_norms: tuple[float, ...] = (1.0, 2.0, inf)
    delta: float = 0.5
    side: int = 224
    runs: int = 11

    @classmethod
    def quick(cls) -> GeometryTimes:
        """Three runs, and planes for norm inf alone, as in the paper."""
        return cls(plane_norms=(inf,), runs=3)

    def cases(self) -> list[dict[str, Any]]:
        asked = [("intervals", norm) for norm in self.norms]
        asked += [("planes", norm) for norm in self.plane_norms]
        chosen: list[tuple[str, int | None]] = [("mnist:0", None), ("cifar10:0", None)]
        return [
            {
                "measure": "geometry times",
                "what": what,
                "images": images,
                "side": side,
                "norm": write_number(norm),
                "delta": self.delta,
                "runs": self.runs,
            }
            for images, side in [*chosen, ("cifar10:0", self.side)]
            for what, norm in asked
        ]

    def __call__(self, case: dict[str, Any], device: str) -> dict[str, Any]:
        image = load_image(case["images"], case["side"]).to(device)
        threat = Threat(read_number(case["norm"]), case["delta"])
        taken = time_runs(partial(WORK[case["what"]], image, threat), device, runs=case["runs"])
        return {
            "seconds": median(taken),
            "fastest": min(taken),
            "slowest": max(taken),
            "threads": torch.get_num_threads(),
            "shape": list(image.shape[1:]),
            "origin": tell_origin(case["images"], case["side"]),
        }
