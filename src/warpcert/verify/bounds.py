"""Bounds of every layer and margin of a network on bent images."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.bound import Bounds, margin_rows
from warpcert.core.checks import check_images
from warpcert.flow import Threat
from warpcert.net import Network
from warpcert.verify.methods import bounder
from warpcert.verify.relax import Relaxation, relax


def bounds(  # noqa: PLR0913 - the last three are for comparisons
    network: Network,
    images: Tensor,
    threat: Threat,
    labels: Tensor,
    method: str = "deeppoly",
    *,
    relaxation: Relaxation = "hull",
    intersect: bool = True,
    warm: Bounds | None = None,
) -> Bounds:
    """Bound what a network makes of images (B, C, H, W) bent within a threat.

    Returns `Bounds`, which unpacks as ``layers, margins``: the Interval of every activation's
    input by its number in the network, and lower bounds of the margins (B, classes - 1), the
    label's score minus that of every other class in turn, all in float64. Sound for the
    network and the bilinear warp in exact arithmetic; ``warm`` are bounds of a larger threat, such
    as one with a larger gamma, which are then never worsened.
    """
    images, labels = check_problem(network, images, labels)
    rows = margin_rows(labels, network.classes)
    return bounder(method, intersect)(network, relax(images, threat, relaxation), rows, warm)


def check_problem(network: Network, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Refuse images and labels that do not fit the network; return them on its device."""
    check_images(images)
    if tuple(images.shape[1:]) != network.input_shape:
        shape = ", ".join(str(n) for n in network.input_shape)
        raise ValueError(f"the network takes images (B, {shape}), got {tuple(images.shape)}")
    if not isinstance(labels, Tensor) or labels.is_floating_point() or labels.is_complex():
        raise ValueError("labels must be a tensor of whole numbers")
    if tuple(labels.shape) != (images.shape[0],):
        raise ValueError(f"labels must be ({images.shape[0]},), got {tuple(labels.shape)}")
    labels = labels.to(device=network.device, dtype=torch.int64)
    if not bool(((labels >= 0) & (labels < network.classes)).all()):
        wrong = sorted({int(k) for k in labels if not 0 <= k < network.classes})
        raise ValueError(f"labels must be 0 to {network.classes - 1}, got {wrong[0]}")
    if network.classes < 2:
        raise ValueError("a network with one score has no margins: give it one for each class")
    with torch.inference_mode(False):  # copies, which a search for slopes may use
        return images.detach().to(network.device, copy=True), labels.clone()
