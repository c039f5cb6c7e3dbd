"""Bounder: a way to bound what a network can do on an input set."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from warpcert.bound.arithmetic import plain_products
from warpcert.bound.bounds import Bounds
from warpcert.core.box import Box
from warpcert.core.inputset import InputSet
from warpcert.core.shapes import Float
from warpcert.net import Network


class Bounder(ABC):
    """Hyper-parameters are in the object, data in the call.

    What comes back is proved for the network and the input set in exact arithmetic: every bound
    is computed in float64 and its rounding taken off, whatever the network's own dtype.
    """

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
        network = network.to(dtype=torch.float64)
        with torch.inference_mode(False), torch.no_grad(), plain_products(network):
            if inputs.boxed and not isinstance(inputs, Box):
                inputs = Box(inputs.box)  # it answers faster
            return self.bound(network, inputs, rows.to(torch.float64), warm)

    @abstractmethod
    def bound(
        self,
        network: Network,
        inputs: InputSet,
        rows: Float[Tensor, "B S classes"],
        warm: Bounds | None,
    ) -> Bounds:
        """The same, for a network and rows in float64."""
