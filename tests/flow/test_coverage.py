"""The paper's estimate: random fields reach almost all of the bounds, and nothing beyond."""

from __future__ import annotations

import pytest
import torch

from benchmarks.coverage import coverage
from warpcert import Threat, load_images


@pytest.mark.slow
@pytest.mark.parametrize("images", ["mnist:0-4", "cifar10:0-1"])
def test_ten_thousand_uniform_fields_cover_the_bounds(images: str) -> None:
    chosen, _ = load_images(images)
    generator = torch.Generator().manual_seed(0)
    percent, left = coverage(chosen, Threat("inf", 1.0), 10_000, generator)
    assert left == 0
    assert 98.5 <= percent <= 100
