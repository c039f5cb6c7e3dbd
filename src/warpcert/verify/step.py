"""Step: one try at the problems that are still undecided."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor

from warpcert.attacks import Attack
from warpcert.bound import Bounder
from warpcert.core.inputset import InputSet
from warpcert.verify.docket import Docket


class Step(ABC):
    """A name, and what is done; it enters what it finds in the docket."""

    name: str

    @abstractmethod
    def __call__(self, docket: Docket, which: Tensor) -> None:
        """Try on some of the images, by number."""


@dataclass(frozen=True)
class Prove(Step):
    """Bound the margins from below; with ``boxed`` only where the images are all of a box."""

    name: str
    bounder: Bounder
    boxed: bool = False

    def __call__(self, docket: Docket, which: Tensor) -> None:
        """Start from what is known, and enter the new bounds."""
        inputs, rows = self.inputs(docket, which), docket.rows[which]
        if self.boxed and not inputs.boxed:
            return
        bounds = self.bounder(docket.network, inputs, rows, docket.known(which))
        docket.prove(which, bounds, self.name)

    def inputs(self, docket: Docket, which: Tensor) -> InputSet:
        """What the images may become."""
        return docket.inputs(which)


@dataclass(frozen=True)
class Refute(Step):
    """Look for fields that change the label; the attack has checked those it hands out."""

    name: str
    attack: Attack

    def __call__(self, docket: Docket, which: Tensor) -> None:
        """Enter the lowest margins reached, and the fields that go below zero."""
        found = self.attack(docket.network, docket.members(which), docket.labels[which])
        docket.attacked(which, found, self.name)
