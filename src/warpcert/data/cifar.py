"""`parse_cifar10`: the binary version of CIFAR-10."""

from __future__ import annotations

import numpy as np

from warpcert.data.dataset import Arrays

_SHAPE = (3, 32, 32)
_RECORD = 1 + 3 * 32 * 32


def parse_cifar10(contents: tuple[bytes, ...]) -> Arrays:
    """Images (N, 3, 32, 32) and labels (N,) of all batches.

    A record is one label byte, then the red, the green and the blue plane, each row by row.
    """
    for content in contents:
        if not content or len(content) % _RECORD:
            raise ValueError(
                f"not a CIFAR-10 binary file: {len(content)} bytes, "
                f"expected a positive multiple of {_RECORD}"
            )
    records = np.frombuffer(b"".join(contents), np.uint8).reshape(-1, _RECORD)
    labels = records[:, 0].astype(np.int64)
    if labels.max() > 9:
        raise ValueError(f"not a CIFAR-10 binary file: label {labels.max()}, expected 0 to 9")
    return records[:, 1:].reshape(-1, *_SHAPE), labels
