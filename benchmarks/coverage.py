"""How much of the pixel bounds random fields reach: ``python -m benchmarks.coverage``.

The paper's estimate of the approximation error: draw 10,000 independent uniform fields at delta 1,
bend the image by each, and compare the interval of the values seen with the computed one. Prints
the summed widths' ratio for each data set, beside the paper's figure, and counts the values that
left their bounds (there must be none; the command fails if there are).
"""

from __future__ import annotations

import argparse

import torch

import warpcert as wc
from warpcert.experiments.measure.coverage import cover

PAPER = {"mnist": 99.10, "cifar10": 98.84}


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
        covered = [cover(x, threat, options.fields, generator) for x in images.split(1)]
        left = sum(each.left for each in covered)
        percent = 100 * sum(c.reached for c in covered) / sum(c.possible for c in covered)
        failed |= left > 0
        print(f"{name:9}  {percent:9.2f}  {paper:8.2f}  {left:16d}")
    if failed:
        raise SystemExit("a bent pixel left its bounds: the bounds are wrong")


if __name__ == "__main__":
    main()
