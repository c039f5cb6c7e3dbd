"""warpcert: prove that an image classifier cannot be fooled by bending the image.

Public names are loaded on first use, so that the command line answers ``--help`` at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warpcert.bound import Bounds
    from warpcert.core import Box, InputSet, Interval, Status, Unsound, Unsupported, Verdict
    from warpcert.data import load_images
    from warpcert.flow import DeformedImage, Threat, pixel_bounds, pixel_planes, support, warp
    from warpcert.net import Network, load_network
    from warpcert.verify import attack, bounds, certify

__version__ = "0.1.0"

_ROOMS = {
    "Bounds": "bound",
    "Box": "core",
    "InputSet": "core",
    "Interval": "core",
    "Status": "core",
    "Unsound": "core",
    "Unsupported": "core",
    "Verdict": "core",
    "load_images": "data",
    "DeformedImage": "flow",
    "Threat": "flow",
    "pixel_bounds": "flow",
    "pixel_planes": "flow",
    "support": "flow",
    "warp": "flow",
    "Network": "net",
    "load_network": "net",
    "attack": "verify",
    "bounds": "verify",
    "certify": "verify",
}

__all__ = [  # noqa: RUF022 - by room
    "Bounds",
    "Box",
    "InputSet",
    "Interval",
    "Status",
    "Unsound",
    "Unsupported",
    "Verdict",
    "load_images",
    "DeformedImage",
    "Threat",
    "pixel_bounds",
    "pixel_planes",
    "support",
    "warp",
    "Network",
    "load_network",
    "attack",
    "bounds",
    "certify",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'warpcert' has no attribute {name!r}")
    return getattr(import_module(f"warpcert.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROOMS])
