"""Checkpoint: a training run after some epoch, on disk."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from warpcert.core.durable import write_whole
from warpcert.train.optimiser import restore
from warpcert.train.recipe import Recipe


@dataclass(frozen=True)
class Checkpoint:
    """The file in which a run of one recipe keeps its state: tensors and plain numbers only."""

    path: Path
    recipe: Recipe

    def save(
        self, module: nn.Module, optimiser: torch.optim.Optimizer, epoch: int, seconds: float
    ) -> None:
        """Write the state after `epoch` epochs and `seconds`; the old file stays until then."""
        state = {
            "recipe": asdict(self.recipe),
            "module": module.state_dict(),
            "optimiser": optimiser.state_dict(),
            "epoch": epoch,
            "seconds": seconds,
        }
        content = io.BytesIO()
        torch.save(state, content)
        write_whole(self.path, content.getvalue())

    def load(self, module: nn.Module, optimiser: torch.optim.Optimizer) -> tuple[int, float]:
        """Restore the state; the epochs and seconds behind it, both 0 where there is no file."""
        if not self.path.exists():
            return 0, 0.0
        state = self._read(next(module.parameters()).device)
        others = list(_differences(state["recipe"], asdict(self.recipe)))
        if others:
            raise ValueError(
                f"{self.path} belongs to a run with other settings ({'; '.join(others)}): "
                "repeat those or name another folder"
            )
        try:
            module.load_state_dict(state["module"])
            restore(optimiser, state["optimiser"])
        except (RuntimeError, ValueError):
            raise ValueError(
                f"{self.path} belongs to another architecture: name another folder"
            ) from None
        return state["epoch"], state["seconds"]

    def _read(self, device: torch.device) -> dict[str, Any]:
        try:
            state = torch.load(self.path, map_location=device, weights_only=True)
        except (OSError, RuntimeError, EOFError, pickle.UnpicklingError):
            raise ValueError(
                f"{self.path} is not a readable checkpoint: remove it to begin again"
            ) from None
        if not isinstance(state, dict) or not {"recipe", "module", "epoch"} <= state.keys():
            raise ValueError(f"{self.path} is not a checkpoint: remove it to begin again")
        return state


def _differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """In words, where two recipes do not agree."""
    for name in [*new, *(old.keys() - new.keys())]:
        one, other = old.get(name), new.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from _differences(one, other)
        elif one != other:
            yield f"{name} {one!r}, not {other!r}"
