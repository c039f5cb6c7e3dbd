"""Images as exact rationals, and the bilinear value of a displaced pixel.

Pixels sit on integer coordinates. Pixel (i, j) displaced by (dx, dy) reads the image at row
i + dy and column j + dx, both clamped to the image, by bilinear interpolation. Every finite float
is a rational number, so the value is computed in `fractions.Fraction` without any rounding.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[Any] | Sequence[Any]
Number = int | float | Fraction | np.floating[Any] | np.integer[Any]


def exact(number: Number) -> Fraction:
    """The rational number that a finite int, float or Fraction stands for."""
    if isinstance(number, (int, Fraction)):
        return Fraction(number)
    if isinstance(number, np.integer):
        return Fraction(int(number))
    real = float(number)
    if not math.isfinite(real):
        raise ValueError(f"{number!r} is not a finite number")
    return Fraction(real)


@dataclass(frozen=True)
class Picture:
    """One channel of exact pixels: its size and a function from (row, column) to the value."""

    height: int
    width: int
    at: Callable[[int, int], Fraction]


def picture(image: Image) -> Picture:
    """An (H, W) array as a Picture. Pixels are converted when they are read."""
    array = np.asarray(image)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"an image has shape (H, W) with H, W >= 1, not {array.shape}")
    return Picture(array.shape[0], array.shape[1], lambda row, column: exact(array[row, column]))


def combined(images: Image, weights: Sequence[Number] | npt.NDArray[Any]) -> Picture:
    """The picture sum_c weights[c] * images[c] of a (C, H, W) array, exactly."""
    array = np.asarray(images)
    factors = [exact(weight) for weight in weights]
    if array.ndim != 3 or array.size == 0 or array.shape[0] != len(factors):
        raise ValueError(f"{len(factors)} weights do not fit images of shape {array.shape}")

    def at(row: int, column: int) -> Fraction:
        terms = (w * exact(array[c, row, column]) for c, w in enumerate(factors))
        return sum(terms, Fraction(0))

    return Picture(array.shape[1], array.shape[2], at)


def negated(original: Picture) -> Picture:
    """The picture with every pixel times -1."""
    return Picture(original.height, original.width, lambda row, column: -original.at(row, column))


def check_pixel(source: Picture, i: int, j: int) -> None:
    """Raise ValueError unless (i, j) is a pixel of the picture."""
    if not (0 <= i < source.height and 0 <= j < source.width):
        raise ValueError(f"pixel ({i}, {j}) is not in an image {source.height} x {source.width}")


def value(image: Image, i: int, j: int, dx: Number, dy: Number) -> Fraction:
    """The exact value of pixel (i, j) of an (H, W) image displaced by (dx, dy).

    The coordinate is clamped first; the neighbour index is clamped as well, which only matters
    where its weight is zero (the last row or column, and sides of one pixel).
    """
    source = picture(image)
    check_pixel(source, i, j)
    row = min(max(i + exact(dy), Fraction(0)), Fraction(source.height - 1))
    column = min(max(j + exact(dx), Fraction(0)), Fraction(source.width - 1))
    top, left = math.floor(row), math.floor(column)
    bottom, right = min(top + 1, source.height - 1), min(left + 1, source.width - 1)
    down, along = row - top, column - left
    upper = (1 - along) * source.at(top, left) + along * source.at(top, right)
    lower = (1 - along) * source.at(bottom, left) + along * source.at(bottom, right)
    return (1 - down) * upper + down * lower
