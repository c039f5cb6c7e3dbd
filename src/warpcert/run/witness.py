"""Witness: a field that changes a label, kept as a file."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor

from warpcert.flow import warp
from warpcert.run.item import Key


@final
@dataclass(frozen=True, eq=False)
class Witness:
    """A field (H, W, 2) and the image (C, H, W) that it bends."""

    field: Tensor
    image: Tensor

    @property
    def content(self) -> bytes:
        """An .npz file: field (H, W, 2) float64, image and warped (C, H, W) float32."""
        field = self.field.detach().to("cpu", torch.float64)
        image = self.image.detach().cpu()
        warped = warp(image[None].double(), field[None])[0]
        stream = io.BytesIO()
        np.savez_compressed(
            stream,
            field=field.numpy(),
            image=image.float().numpy(),
            warped=warped.float().numpy(),
        )
        return stream.getvalue()


def name_witness(key: Key) -> str:
    """The name of the file that holds the witness of a key."""
    delta, gamma, index = key
    return f"{index}-delta{delta!r}-gamma{gamma!r}.npz"
