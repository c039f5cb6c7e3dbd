"""make_optimiser, set_rate, restore: Adam, on a GPU in the form that can be recorded."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def make_optimiser(module: nn.Module, rate: float) -> torch.optim.Adam:
    """Adam for all of a module's parameters; on a GPU its rate and its clock live there too."""
    parameters = list(module.parameters())
    device = parameters[0].device
    if device.type != "cuda":
        return torch.optim.Adam(parameters, lr=rate)
    return torch.optim.Adam(
        parameters, lr=torch.tensor(rate, device=device), fused=True, capturable=True
    )


def set_rate(optimiser: torch.optim.Optimizer, rate: float | Tensor) -> None:
    """Let the next steps be of this rate."""
    for group in optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = float(rate)


def restore(optimiser: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Go on from a kept state, in this optimiser's own form, whichever device the state is from."""
    own = [
        {name: value for name, value in group.items() if name != "params"}
        for group in optimiser.param_groups
    ]
    # Where clocks are put depends on these, so the state gets them first.
    kept = [
        {**group, "fused": mine["fused"], "capturable": mine["capturable"]}
        for group, mine in zip(state["param_groups"], own, strict=True)
    ]
    optimiser.load_state_dict({**state, "param_groups": kept})
    for group, mine in zip(optimiser.param_groups, own, strict=True):
        group.update(mine)
