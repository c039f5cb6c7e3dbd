"""`thin_out`: a field as few enough arrows to be seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_ARROWS = 14
"""The most arrows along a side of the image."""

HUNDREDTHS = 100
"""Displacements are kept in hundredths of a pixel: no eye sees more."""


def thin_out(field: NDArray[Any]) -> dict[str, Any]:
    """Of a field (H, W, 2), every so many pixels' displacements, as JSON.

    ``step`` is the distance of the arrows, ``first`` the row and column of the first one, ``v``
    the displacements dx, dy, dx, dy ... row by row, in hundredths of a pixel; ``longest`` is the
    longest displacement of all pixels.
    """
    height, width = field.shape[:2]
    step = -(-max(height, width) // MOST_ARROWS)
    first = (step - 1) // 2
    some = field[min(first, height - 1) :: step, min(first, width - 1) :: step]
    return {
        "h": height,
        "w": width,
        "step": step,
        "first": [min(first, height - 1), min(first, width - 1)],
        "across": some.shape[1],
        "v": np.rint(HUNDREDTHS * some).astype(int).ravel().tolist(),
        "longest": round(float(np.linalg.norm(field, axis=-1).max()), 4),
    }
