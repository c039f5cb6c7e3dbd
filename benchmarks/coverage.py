"""How much of the pixel bounds random fields reach: ``python -m benchmarks.coverage``.

The paper's estimate of the approximation error: draw 10,000 independent uniform fields at delta 1,
bend the image by each, and compare the interval of the values seen with the computed one. Prints
the summed widths' ratio for each data set, beside the paper's figure, and counts the values that
left their bounds (there must be none; the command fails if there are).
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor

import warpcert as wc

PAPER = {"mnist": 99.10, "cifar10": 98.84}


def seen(image: Tensor, threat: wc.Threat, fields: int, generator: torch.Generator) -> wc.Interval:
    """Smallest and largest value of every pixel (1, C, H, W) over uniform random fields."""
    lower, upper = image, image
    height, width = image.shape[2:]
    for start in range(0, fields, 1000):
        n = min(1000, fields - start)
        drawn = threat.sample((height, width), n, generator=generator, kind="uniform")
        low, high = torch.aminmax(wc.warp(image, drawn), dim=0, keepdim=True)
        lower, upper = torch.minimum(lower, low), torch.maximum(upper, high)
    return wc.Interval(lower, upper)


def coverage(
    images: Tensor, threat: wc.Threat, fields: int, generator: torch.Generator
) -> tuple[float, int]:
    """Per cent of the summed widths that the fields reach, and how many pixels left the bounds."""
    reached = possible = 0.0
    left = 0
    for image in images.double().split(1):
        box, values = wc.pixel_bounds(image, threat), seen(image, threat, fields, generator)
        reached += float(values.width.sum())
        possible += float(box.width.sum())
        left += int((~(box.contains(values.lower) & box.contains(values.upper))).sum())
    return 100 * reached / possible, left


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--fields", type=int, default=10_000)
    parser.add_argument("--norm", default="inf")
    options = parser.parse_args()
    threat = wc.Threat(options.norm, delta=1.0)
    failed = False
    print("data set   covered %   paper %   left the bounds")
    for name, paper in PAPER.items():
        images, _ = wc.load_images(f"{name}:0-{options.images - 1}")
        generator = torch.Generator().manual_seed(0)
        percent, left = coverage(images, threat, options.fields, generator)
        failed |= left > 0
        print(f"{name:9}  {percent:9.2f}  {paper:8.2f}  {left:16d}")
    if failed:
        raise SystemExit("a bent pixel left its bounds: the bounds are wrong")


if __name__ == "__main__":
    main()
