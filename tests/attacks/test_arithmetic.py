"""How attacks compute: with gradients, in whole float32, by the library that a GPU has for it."""

from __future__ import annotations

import pytest
import torch
from torch.backends import cudnn

from warpcert.attacks.arithmetic import full_precision


@pytest.mark.parametrize("enabled", [True, False])
def test_the_library_stays_as_it_is(enabled: bool) -> None:
    """Its own switch turns it off unless told otherwise, and convolutions are slow without it."""
    with cudnn.flags(enabled=enabled, allow_tf32=True), torch.no_grad():
        with full_precision():
            assert cudnn.enabled == enabled
            assert not cudnn.allow_tf32 and not cudnn.benchmark and cudnn.deterministic
            assert torch.is_grad_enabled()
        assert cudnn.enabled == enabled and cudnn.allow_tf32
        assert not torch.is_grad_enabled()
