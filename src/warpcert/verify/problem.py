"""What is asked: images and labels that fit a network."""

from __future__ import annotations

import torch
from torch import Tensor

from warpcert.core.checks import check_images
from warpcert.net import Network


def as_batch(images: Tensor, labels: Tensor | int) -> tuple[Tensor, Tensor, bool]:
    """An image (C, H, W) and its label as a batch of one; and whether it was one."""
    if not isinstance(labels, (int, Tensor)) or isinstance(labels, bool):
        raise ValueError(f"labels must be a whole number or a tensor of them, got {labels!r}")
    if isinstance(images, Tensor) and images.dim() == 3:
        alone = torch.as_tensor(labels)
        if alone.numel() != 1:
            raise ValueError(f"one image needs one label, got {alone.numel()}")
        return images[None], alone.reshape(1), True
    if isinstance(labels, int):
        raise ValueError(f"a batch of images needs a tensor of labels, got {labels}")
    return images, labels, False


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
