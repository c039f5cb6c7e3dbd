"""Measure the attack: ``python -m benchmarks.attacks [--images 100] [--device cuda]``.

Prints for each bundled network and threat how many images the attack fools, beside two yardsticks:
thousands of translations, extreme and random fields, and, where the set is its box, projected
gradients on that box with many restarts. Compared image by image: any image that a yardstick fools
and the attack does not is counted as missed. Seconds are for all images together.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time

from torch import Tensor

import warpcert as wc
from warpcert.attacks import STRONGEST, Attack, ProjectedGradient, Search
from warpcert.core import Box, InputSet
from warpcert.data import ZOO

THREATS = [
    wc.Threat(norm, delta, gamma)
    for norm, delta, gamma in itertools.product(
        (math.inf, 2.0, 1.0), (0.4, 0.8), (math.inf, 0.1, 0.01)
    )
]


def fooled(
    attack: Attack, network: wc.Network, inputs: InputSet, labels: Tensor
) -> tuple[Tensor, float]:
    """Which images an attack fools, and the seconds it took."""
    start = time.perf_counter()
    found = attack(network, inputs, labels).fooled.cpu()
    return found, time.perf_counter() - start


def main() -> None:
    """Print a line for each network and threat; the last one counts what was missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--tries", type=int, default=5000, help="fields of the first yardstick")
    parser.add_argument("--only", nargs="*", default=list(ZOO), help="names of networks")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    missed = total = 0
    print("missed  attack  fields  box  seconds  network, threat")
    for name, threat in itertools.product(options.only, THREATS):
        network = wc.load_network(name).to(options.device)
        images, labels = wc.load_images(f"{ZOO[name].dataset}:0-{options.images - 1}")
        images, labels = images.to(options.device), labels.to(options.device)
        right = network(images).argmax(1) == labels
        images, labels = images[right], labels[right]
        inputs = wc.DeformedImage(images, threat)
        ours, seconds = fooled(STRONGEST, network, inputs, labels)
        fields, _ = fooled(Search(tries=options.tries), network, inputs, labels)
        found = fields
        box = "-"
        if inputs.boxed:
            many = ProjectedGradient(steps=100, restarts=10)
            through, _ = fooled(many, network, Box(inputs.box), labels)
            found, box = fields | through, str(int(through.sum()))
        less = int((found & ~ours).sum())
        missed, total = missed + less, total + len(images)
        print(
            f"{less:6d}  {int(ours.sum()):6d}  {int(fields.sum()):6d}  {box:>3}  {seconds:7.1f}  "
            f"{name}, {threat}, {len(images)} images",
            flush=True,
        )
    print(f"{missed} of {total} problems: fooled by a yardstick and not by the attack")


if __name__ == "__main__":
    main()
