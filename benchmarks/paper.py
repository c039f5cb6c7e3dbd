"""The published figures, copied from the paper for tables that stand beside them.

Ruoss, Baader, Balunovic, Vechev, "Efficient Certification of Spatial Robustness" (2021): its
tables of certification rates (per cent of correctly classified images, 100 test images, five
minutes an image) and average running times (seconds; 16 cores and one RTX 2080 Ti), MILP.
Of its own networks, which were not published with the paper's numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Published(NamedTuple):
    """Per cent certified, and seconds for an image."""

    rate: float
    seconds: float


GAMMAS = (math.inf, 0.1, 0.01, 0.001)

RATES: dict[str, dict[float, tuple[float, ...]]] = {
    "mnist-convsmall-pgd": {
        0.3: (97, 98, 99, 98), 0.4: (89, 91, 98, 99), 0.5: (76, 85, 88, 89)
    },
    "mnist-convsmall-diffai": {
        0.3: (91, 92, 95, 95), 0.4: (76, 84, 92, 92), 0.5: (50, 69, 91, 92)
    },
    "mnist-convbig-diffai": {
        0.3: (91, 94, 95, 95), 0.4: (84, 90, 90, 92), 0.5: (62, 79, 89, 90)
    },
    "cifar10-convsmall-diffai": {
        0.3: (47, 56, 70, 71), 0.4: (38, 46, 67, 69), 0.5: (32, 47, 53, 53)
    },
    "cifar10-convmed-diffai": {
        0.3: (56, 60, 70, 73), 0.4: (42, 51, 57, 58), 0.5: (34, 42, 47, 48)
    },
}  # fmt: skip

SECONDS: dict[str, dict[float, tuple[float, ...]]] = {
    "mnist-convsmall-pgd": {
        0.3: (28.0, 54.8, 59.6, 97.0), 0.4: (48.6, 71.3, 61.6, 43.0), 0.5: (97.3, 76.6, 87.0, 12.1)
    },
    "mnist-convsmall-diffai": {
        0.3: (1.7, 11.2, 12.7, 33.4), 0.4: (1.7, 15.9, 8.4, 11.0), 0.5: (1.9, 34.6, 19.5, 28.6)
    },
    "mnist-convbig-diffai": {
        0.3: (269.6, 240.1, 288.9, 327.9),
        0.4: (275.5, 261.6, 319.8, 314.2),
        0.5: (252.6, 225.5, 231.6, 288.1),
    },
    "cifar10-convsmall-diffai": {
        0.3: (45.8, 353.3, 372.0, 415.0),
        0.4: (59.1, 363.3, 268.8, 293.7),
        0.5: (128.8, 320.7, 404.1, 370.1),
    },
    "cifar10-convmed-diffai": {
        0.3: (89.9, 338.9, 351.1, 469.5),
        0.4: (153.4, 333.9, 368.3, 379.5),
        0.5: (214.6, 353.3, 373.7, 410.4),
    },
}  # fmt: skip

NORMS: dict[float, dict[float, Published]] = {
    1.0: {0.3: Published(97, 1.4), 0.5: Published(79, 1.5),
          0.7: Published(43, 2.4), 0.9: Published(21, 5.6)},
    2.0: {0.3: Published(95, 5.2), 0.5: Published(74, 6.4),
          0.7: Published(33, 3.6), 0.9: Published(13, 11.5)},
}  # fmt: skip
"""MNIST ConvSmall DiffAI, gamma = inf, norms 1 and 2."""


def published(name: str | None, norm: float, delta: float, gamma: float) -> Published | None:
    """What the paper reports for one of its networks; None where it says nothing."""
    if name is None:
        return None
    if norm != math.inf:
        known = name == "mnist-convsmall-diffai" and gamma == math.inf
        return NORMS.get(norm, {}).get(delta) if known else None
    if delta not in RATES.get(name, {}) or gamma not in GAMMAS:
        return None
    place = GAMMAS.index(gamma)
    return Published(RATES[name][delta][place], SECONDS[name][delta][place])
