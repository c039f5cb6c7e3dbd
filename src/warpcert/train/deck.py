"""Deck: images and labels that lie on the device as a whole."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
from torch import Tensor

from warpcert.data import open_shelf


@dataclass(frozen=True, eq=False)
class Deck:
    """Images (N, C, H, W) of bytes and labels (N,), both on one device."""

    images: Tensor
    labels: Tensor

    def __post_init__(self) -> None:
        if self.images.dtype != torch.uint8 or self.images.dim() != 4:
            raise ValueError(
                f"images must be bytes (N, C, H, W), got {self.images.dtype} "
                f"of shape {tuple(self.images.shape)}"
            )
        if self.labels.dtype != torch.int64 or self.labels.shape != self.images.shape[:1]:
            raise ValueError(
                f"labels must be int64 ({len(self.images)},), got {self.labels.dtype} "
                f"of shape {tuple(self.labels.shape)}"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, which: Tensor | slice) -> Deck:
        """The images of these indices."""
        return Deck(self.images[which], self.labels[which])

    def to(self, device: str | torch.device) -> Deck:
        """The same images on another device."""
        return Deck(self.images.to(device), self.labels.to(device))

    def floats(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """The images (N, C, H, W) as numbers in [0, 1]."""
        return self.images.to(dtype) / 255


def load_deck(dataset: str, split: str, root: str | os.PathLike[str] | None = None) -> Deck:
    """All images of a split, "train" or "test", of a data set whose files lie below `root`."""
    shelf = open_shelf(dataset, root)
    if split not in shelf.dataset.splits:
        raise ValueError(f"split must be one of {', '.join(shelf.dataset.splits)}, got {split!r}")
    images, labels = shelf.read_split(shelf.dataset.splits[split])
    return Deck(torch.tensor(images), torch.tensor(labels))
