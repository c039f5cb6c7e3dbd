"""margin_rows: the label's score minus each other one."""

from __future__ import annotations

import torch

from warpcert.bound import margin_rows


def test_known_rows() -> None:
    rows = margin_rows(torch.tensor([1, 0, 2]), 3)
    assert rows.dtype == torch.float64
    assert rows.tolist() == [
        [[-1, 1, 0], [0, 1, -1]],
        [[1, -1, 0], [1, 0, -1]],
        [[-1, 0, 1], [0, -1, 1]],
    ]


def test_two_classes_have_one_margin() -> None:
    assert margin_rows(torch.tensor([1]), 2).tolist() == [[[-1, 1]]]


def test_rows_give_margins() -> None:
    scores = torch.randn(4, 10, dtype=torch.float64)
    labels = torch.tensor([0, 9, 4, 4])
    margins = (margin_rows(labels, 10) @ scores[..., None]).squeeze(-1)
    for k, label in enumerate(labels.tolist()):
        others = [scores[k, label] - scores[k, c] for c in range(10) if c != label]
        assert torch.equal(margins[k], torch.stack(others))
