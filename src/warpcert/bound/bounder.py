"""Bounder: a way to bound what a network can do on an input set."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor

from warpcert.bound.bounds import Bounds
from warpcert.core.inputset import InputSet
from warpcert.core.shapes import Float
from warpcert.net import Network


class Bounder(ABC):
    """Hyper-parameters are in the object, data in the call.

    What comes back is proved for the network and the input set in exact arithmetic: every bound
    is computed in float64 and its rounding taken off, whatever the network's own dtype.
    """

    @abstractmethod
    def __call__(
        self,
        network: Network,
        inputs: InputSet,
        rows: Float[Tensor, "B S classes"],
        warm: Bounds | None = None,
    ) -> Bounds:
        """Bound every activation's input, and <row, scores> from below for each row.

        ``warm`` are bounds proved before for a set that holds this one; they are used.
        """
