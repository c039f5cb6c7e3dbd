"""plain_products: sums of products as the bounds of their rounding know them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from warpcert.net import Network


@contextmanager
def plain_products(network: Network) -> Iterator[None]:
    """Keep convolutions to sums of products, in full precision.

    Bounds of rounding do not cover Winograd's and Fourier's convolutions. In float64, in which
    everything that counts is computed, CPUs have neither, and NVIDIA's library only Fourier's, for
    filters of which one side is 1; where a network has such a filter, the library is not used. A
    single pixel's filter is a product of matrices here in any case. TF32 is off for searches.
    """
    thin = any(
        1 in filters and set(filters) != {1}
        for step in network.steps
        if (filters := _filters(step.node))
    )
    with torch.backends.cudnn.flags(
        enabled=torch.backends.cudnn.enabled and not thin,
        benchmark=False,
        deterministic=True,
        allow_tf32=False,
    ):
        yield


def _filters(node: object) -> tuple[int, ...]:
    """Height and width of a convolution's filters."""
    weight = getattr(node, "weight", None)
    return tuple(weight.shape[2:]) if isinstance(weight, torch.Tensor) and weight.dim() == 4 else ()
