"""save_weights, load_weights: a network's numbers as plain arrays in an .npz file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

from warpcert.core.durable import write_whole


def save_weights(module: nn.Module, path: Path) -> None:
    """Write all parameters and buffers, by their names, as float32 (counters as int64)."""
    arrays = {name: _array(tensor) for name, tensor in module.state_dict().items()}
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]  # names are not its own options
    write_whole(path, content.getvalue())


def load_weights(module: nn.Module, path: Path) -> None:
    """Read what `save_weights` wrote into a network of the same architecture."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            state = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a readable weight file: {error}") from None
    try:
        module.load_state_dict(state)
    except RuntimeError as error:
        line = " ".join(str(error).split())
        raise ValueError(f"{path} is not of this architecture: {line[:200]}") from None


def _array(tensor: torch.Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    plain = tensor.detach().cpu()
    return (plain.float() if plain.is_floating_point() else plain).contiguous().numpy()
