"""Trace: what went into every layer while boxes were propagated."""

from __future__ import annotations

from torch import nn

from warpcert.train.interval import Bundle


class Trace(dict[nn.Module, Bundle]):
    """Every layer with the bundle that went into it; a `Note`, to be handed to `propagate`."""

    def __call__(self, module: nn.Module, bundle: Bundle) -> None:
        """Write it down."""
        self[module] = bundle
