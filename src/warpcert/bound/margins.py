"""Margins: the rows that say how far the true class is ahead of each other one."""

from __future__ import annotations

import torch

from warpcert.core.shapes import Float, Int


def margin_rows(
    labels: Int[torch.Tensor, " B"], classes: int
) -> Float[torch.Tensor, "B {classes-1} {classes}"]:
    """Rows (B, classes - 1, classes): score of the label minus that of each other class in turn."""
    one = torch.eye(classes, dtype=torch.float64, device=labels.device)
    others = torch.arange(classes - 1, device=labels.device).expand(len(labels), -1)
    others = others + (others >= labels[:, None])  # all classes but the label
    return one[labels][:, None] - one[others]
