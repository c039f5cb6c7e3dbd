"""Look for contradictions: ``python -m benchmarks.consistency [--images 100] [--fields 10000]``.

Certifies bundled images with the bundled networks over a grid of threats, and attacks exactly those
that were certified: by search and, for a sample, with many extreme and random fields of the threat.
Ends with an error at the first certified image whose label some field changes.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from functools import lru_cache
from typing import Literal

import torch

import warpcert as wc
from warpcert.attacks import QUICK, STRONGEST
from warpcert.data import ZOO

BORDERS: tuple[tuple[float, Literal["clamp", "inside"]], ...] = (
    (math.inf, "clamp"),
    (0.1, "clamp"),
    (0.01, "inside"),
)
THREATS = [
    wc.Threat(norm, delta, gamma, border)
    for norm, delta, (gamma, border) in itertools.product((math.inf, 2.0, 1.0), (0.3, 0.6), BORDERS)
]


@lru_cache(maxsize=2)  # for the sizes of images that there are
def sample(
    threat: wc.Threat, shape: tuple[int, int], count: int, device: torch.device
) -> torch.Tensor:
    """Extreme and random fields of a threat."""
    return threat.sample(shape, count, generator=torch.Generator().manual_seed(0), device=device)


def sampled(
    network: wc.Network, image: torch.Tensor, label: int, threat: wc.Threat, count: int
) -> float:
    """The lowest margin over many fields of a threat."""
    lowest = math.inf
    others = [k for k in range(network.classes) if k != label]
    shape = (image.shape[1], image.shape[2])
    for fields in sample(threat, shape, count, image.device).split(1000):
        bent = wc.warp(image.double().expand(len(fields), -1, -1, -1), fields)
        scores = network(bent)
        lowest = min(lowest, float((scores[:, [label]] - scores[:, others]).min()))
    return lowest


def main() -> None:
    """Print what was tried, threat by threat."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--fields", type=int, default=10_000)
    parser.add_argument("--sample", type=int, default=1, help="certified images for the fields")
    parser.add_argument("--method", default="deeppoly")
    parser.add_argument("--only", nargs="*", default=list(ZOO), help="names of networks")
    parser.add_argument("--strong", action="store_true", help="attack as hard as possible")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    attack, total, start = STRONGEST if options.strong else QUICK, 0, time.perf_counter()
    networks = {name: wc.load_network(name).to(options.device) for name in options.only}
    for threat, (name, network) in itertools.product(THREATS, networks.items()):
        images, labels = wc.load_images(f"{ZOO[name].dataset}:0-{options.images - 1}")
        images, labels = images.to(options.device), labels.to(options.device)
        bounds = wc.bounds(network, images, threat, labels, options.method)
        proved = (bounds.margins > 0).all(1).nonzero().squeeze(1)
        if not len(proved):
            print(f"{name}, {threat}: none certified", flush=True)
            continue
        margins = bounds.margins[proved].amin(1)
        found = attack(network, wc.DeformedImage(images[proved], threat), labels[proved])
        reached = found.margins
        for k in range(min(options.sample, len(proved))):
            image, label = images[proved[k]], int(labels[proved[k]])
            low = sampled(network, image, label, threat, options.fields)
            reached[k] = min(float(reached[k]), low)
        if bool(found.fooled.any()) or not bool((reached >= margins - 1e-9).all()):
            raise wc.Unsound(f"{name}, {threat}: a field goes below a proved margin")
        total += len(proved)
        print(
            f"{name}, {threat}: {len(proved)} certified of {len(images)}, none fooled; nearest "
            f"{float((reached - margins).min()):.4f} above its bound",
            flush=True,
        )
    print(f"{total} certificates, no contradiction, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
