"""Coverage: how much of the pixel bounds random fields reach, the paper's approximation error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from warpcert.core import Interval, Unsound
from warpcert.core.memory import CACHED_BYTES
from warpcert.experiments.measure.measurement import Measurement
from warpcert.experiments.measure.pictures import load_image, tell_origin
from warpcert.flow import Threat, pixel_bounds, warp
from warpcert.run.number import read_number, write_number


@dataclass(frozen=True)
class Covered:
    """Summed widths that fields have reached and that the bounds allow, over pixels and channels.

    ``left`` counts the values that left their bounds: there must be none.
    """

    reached: float
    possible: float
    left: int

    @property
    def share(self) -> float:
        """The part that was reached; 1 for bounds that have no width at all."""
        return self.reached / self.possible if self.possible > 0 else 1.0


def cover(image: Tensor, threat: Threat, fields: int, generator: torch.Generator) -> Covered:
    """Compare an image's (1, C, H, W) bounds with what uniform random fields make of it.

    Both in float64. Fields are drawn on the CPU, and are the same for every device.
    """
    exact = image.to(torch.float64)
    box, seen = pixel_bounds(exact, threat), see(exact, threat, fields, generator)
    inside = box.contains(seen.lower) & box.contains(seen.upper)
    return Covered(float(seen.width.sum()), float(box.width.sum()), int((~inside).sum()))


def see(image: Tensor, threat: Threat, fields: int, generator: torch.Generator) -> Interval:
    """Smallest and largest value of every pixel (1, C, H, W), unbent and under uniform fields.

    How many are drawn at a time depends on the image alone, so that all machines draw the same.
    """
    lower, upper = image, image
    channels, height, width = image.shape[1:]
    size = max(1, CACHED_BYTES // (8 * (8 + 6 * channels) * height * width))
    while fields > 0:
        n = min(size, fields)
        drawn = threat.sample(
            (height, width), n, generator=generator, device=image.device, kind="uniform"
        )
        low, high = torch.aminmax(warp(image, drawn), dim=0, keepdim=True)
        lower, upper = torch.minimum(lower, low), torch.maximum(upper, high)
        fields -= n
    return Interval(lower, upper)


@final
@dataclass(frozen=True)
class Coverage(Measurement):
    """The share of the bounds' summed widths that random fields reach, image by image.

    The first `count` images of MNIST and CIFAR-10, and the first `enlarged` ones of CIFAR-10
    enlarged to `side` pixels, in place of ImageNet's. The share of a data set is the sum of what
    was reached by the sum of what is possible.
    """

    count: int = 100
    enlarged: int = 5
    side: int = 224
    fields: int = 10_000
    norm: float = float("inf")
    delta: float = 1.0

    @classmethod
    def quick(cls) -> Coverage:
        """The first two images of each data set; enlarged ones take minutes without a GPU."""
        return cls(count=2, enlarged=0)

    def cases(self) -> list[dict[str, Any]]:
        chosen: list[tuple[str, int, int | None]] = [
            (data, k, None) for data in ("mnist", "cifar10") for k in range(self.count)
        ]
        chosen += [("cifar10", k, self.side) for k in range(self.enlarged)]
        return [
            {
                "measure": "coverage",
                "images": f"{data}:{k}",
                "side": side,
                "norm": write_number(self.norm),
                "delta": self.delta,
                "fields": self.fields,
                "seed": k,
            }
            for data, k, side in chosen
        ]

    def __call__(self, case: dict[str, Any], device: str) -> dict[str, Any]:
        image = load_image(case["images"], case["side"])
        threat = Threat(read_number(case["norm"]), case["delta"])
        generator = torch.Generator().manual_seed(case["seed"])
        covered = cover(image.to(device), threat, case["fields"], generator)
        if covered.left:
            raise Unsound(f"{covered.left} bent pixels of {case['images']} left their bounds")
        return {
            "reached": covered.reached,
            "possible": covered.possible,
            "share": covered.share,
            "shape": list(image.shape[1:]),
            "origin": tell_origin(case["images"], case["side"]),
        }
