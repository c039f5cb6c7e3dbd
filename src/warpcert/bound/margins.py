"""Margins: the rows that say how far the true class is ahead of each other one."""

from __future__ import annotations

import torch

from warpcert.core.shapes import Float, Int


def margin_rows(
    labels: Int[torch.Tensor, " B"], classes: int
) -> Float[torch.Tensor, "B {classes-1} {classes}"]:
    """Rows (B, classes - 1, classes): score of the label minus that of each other class in turn."""
    one = torch.eye(classes, dtype=torch.float64, device=labels.device)
    others = torch.stack([_others(int(label), classes) for label in labels]).to(labels.device)
    return one[labels][:, None] - one[others]


def _others(label: int, classes: int) -> torch.Tensor:
    """All classes but one."""
    return torch.tensor([k for k in range(classes) if k != label])
