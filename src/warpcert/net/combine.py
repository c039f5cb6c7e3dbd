"""Combine: sums, products and extremes of two things, of which one or both depend on the image."""

from __future__ import annotations

from typing import Any

from warpcert.net import arithmetic, axes
from warpcert.net.builder import Builder, Value
from warpcert.net.square import Square
from warpcert.net.supported import Refused


def plus(b: Builder, one: Any, other: Any, first: float = 1.0, second: float = 1.0) -> Value:
    """first * one + second * other."""
    if isinstance(one, Value) and isinstance(other, Value):
        _check_aligned(one, other)
        return arithmetic.total(b, (one, other), (float(first), float(second)))
    if isinstance(one, Value):
        return arithmetic.scale(b, one, float(first), second * axes.unbatched(other, one))
    return arithmetic.scale(b, other, float(second), first * axes.unbatched(one, other))


def times(b: Builder, one: Any, other: Any) -> Value:
    """one * other; two values only if they are the same."""
    if isinstance(one, Value) and isinstance(other, Value):
        if one == other:
            return b.activation(Square(), one)
        raise Refused("a product of two values that depend on the image")
    x, numbers = (one, other) if isinstance(one, Value) else (other, one)
    return arithmetic.scale(b, x, axes.unbatched(numbers, x), 0.0)


def divided(b: Builder, one: Any, other: Any) -> Value:
    """one / other, which must be constant."""
    if isinstance(other, Value):
        raise Refused("division by a value that depends on the image")
    return arithmetic.scale(b, one, 1 / axes.unbatched(other, one), 0.0)


def largest(b: Builder, one: Any, other: Any) -> Value:
    """max(one, other)."""
    if isinstance(one, Value) and isinstance(other, Value):
        _check_aligned(one, other)
        return arithmetic.maximum(b, one, other)
    x, limit = (one, other) if isinstance(one, Value) else (other, one)
    return arithmetic.clamp(b, x, axes.unbatched(limit, x), None)


def smallest(b: Builder, one: Any, other: Any) -> Value:
    """min(one, other)."""
    if isinstance(one, Value) and isinstance(other, Value):
        _check_aligned(one, other)
        return arithmetic.minimum(b, one, other)
    x, limit = (one, other) if isinstance(one, Value) else (other, one)
    return arithmetic.clamp(b, x, None, axes.unbatched(limit, x))


def _check_aligned(one: Value, other: Value) -> None:
    """The batch is the first axis of both, so they must have equally many."""
    if len(one.shape) != len(other.shape):
        raise Refused("two values of different rank, whose batch axes do not meet")
