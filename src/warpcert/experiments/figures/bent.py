"""`find_worst`: the field that comes nearest to changing a label, to be shown in a picture."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.attacks import STRONGEST, Attack
from warpcert.flow import DeformedImage, Threat, warp
from warpcert.net import Network


@dataclass(frozen=True, eq=False)
class Bent:
    """A field (H, W, 2), and the class that the network gives to the image bent by it."""

    field: Tensor
    seen: int


def find_worst(
    network: Network, image: Tensor, label: int, threat: Threat, *, method: Attack = STRONGEST
) -> Bent:
    """The field of the threat with the lowest margin that an attack meets on an image (C, H, W).

    Where the label can be changed, and the attack finds out how, that is a field which does.
    """
    images = image[None].to(network.device)
    labels = torch.tensor([label], device=network.device)
    found = method(network, DeformedImage(images, threat), labels)
    return bend(network, image, found.parameters[0])


def bend(network: Network, image: Tensor, field: Tensor) -> Bent:
    """What a network makes of an image (C, H, W) bent by a field (H, W, 2), in float64."""
    exact = network.to(dtype=torch.float64)
    warped = warp(image[None].double().to(exact.device), field[None].double().to(exact.device))
    return Bent(field.cpu(), int(exact(warped).argmax(1)))
