"""Fewer digits are for a while only."""

from __future__ import annotations

import pytest
import torch
from torch.backends import cudnn

from warpcert.train.arithmetic import fast_arithmetic


@pytest.mark.parametrize("allowed", [False, True])
def test_all_is_as_before(allowed):
    before = torch.get_float32_matmul_precision(), cudnn.benchmark, cudnn.deterministic
    with fast_arithmetic(allowed):
        assert (torch.get_float32_matmul_precision() == "high") is allowed
        assert cudnn.deterministic is allowed  # else no seed repeats a run
    assert (torch.get_float32_matmul_precision(), cudnn.benchmark, cudnn.deterministic) == before
