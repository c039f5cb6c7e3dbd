"""Layers: what is known of the inputs of activations, by value."""

from __future__ import annotations

from collections.abc import Mapping

from warpcert.core.interval import Interval

Layers = Mapping[int, Interval]
