"""Attack: fields of a threat that change labels."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.attacks import SEED, STRONGEST, Attack
from warpcert.flow import DeformedImage, Threat
from warpcert.net import Network
from warpcert.verify.problem import as_batch, check_problem


def attack(
    network: Network,
    images: Tensor,
    labels: Tensor | int,
    threat: Threat,
    *,
    method: Attack = STRONGEST,
    seed: int = SEED,
) -> Tensor | list[Tensor | None] | None:
    """Search for a field (H, W, 2) of the threat that changes an image's label.

    For an image (C, H, W) and its label one field, float64, or None; for a batch (B, C, H, W) and
    labels (B,) a list. Each field was tested in float64 before it is handed out: it belongs to the
    threat, and the label loses in exact arithmetic. None proves nothing.
    """
    images, labels, alone = as_batch(images, labels)
    images, labels = check_problem(network, images, labels)
    generator = torch.Generator().manual_seed(seed)
    with torch.inference_mode(False):
        found = method(network, DeformedImage(images, threat), labels, generator)
    fields = [
        field if fooled else None
        for field, fooled in zip(found.parameters.cpu(), found.fooled.tolist(), strict=True)
    ]
    return fields[0] if alone else fields
