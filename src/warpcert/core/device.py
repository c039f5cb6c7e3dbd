"""Devices: which one, in words."""

from __future__ import annotations

import torch


def name_device(device: str | torch.device) -> str:
    """What a device is called: "cpu", or a GPU's name."""
    place = torch.device(device)
    return torch.cuda.get_device_name(place) if place.type == "cuda" else place.type
