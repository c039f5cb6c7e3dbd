"""Step: a node in its place."""

from __future__ import annotations

from dataclasses import dataclass

from warpcert.net.activation import Activation
from warpcert.net.affine import Affine, Shape


@dataclass(frozen=True, eq=False)
class Step:
    """A node, the values it is applied to, and the shape of what comes out.

    Values are numbered: 0 is the network's input, k the output of the k-th step.
    """

    node: Affine | Activation
    inputs: tuple[int, ...]
    shape: Shape
    name: str = ""
