"""Complete: decide images by branching on fields and neurons."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from warpcert.bound import IntervalPropagation
from warpcert.bound.arithmetic import plain_products
from warpcert.core.clock import TimeUp, limited, shared
from warpcert.core.errors import Unsound
from warpcert.core.memory import is_shortage, release
from warpcert.verify.branch import Effort, Proof, Tree
from warpcert.verify.docket import Docket
from warpcert.verify.step import Step


@dataclass(frozen=True)
class Complete(Step):
    """A tree for each image, one after the other; each has its share of the time that is left.

    With ``keep`` the docket gets what every finished tree has closed, see `Proof`.
    """

    name: str = "complete"
    effort: Effort = field(default_factory=Effort)
    keep: bool = False

    def __call__(self, docket: Docket, which: Tensor) -> None:
        """Enter what every tree has proved or found, finished or not."""
        for k, seconds in shared(which.tolist()):
            with limited(seconds):
                self._grow(docket, k)

    def _grow(self, docket: Docket, k: int) -> None:
        one = torch.tensor([k], device=docket.labels.device)
        inputs, rows = docket.inputs(one), docket.rows[one]
        known = IntervalPropagation()(docket.network, inputs, rows, docket.known(one))
        tree = Tree(
            docket.network,
            docket.images[one],
            docket.labels[one],
            docket.threat,
            docket.rows[one],
            self.effort,
            known,
            Proof() if self.keep else None,
        )
        reason = ""
        try:
            with plain_products(docket.network):
                tree.grow()
        except TimeUp:
            reason = "the time limit"
        except (RuntimeError, MemoryError) as error:
            if not is_shortage(error):
                raise
            release(docket.images.device)
            reason = "a lack of memory"
        margins = tree.margins.nan_to_num(nan=-math.inf)
        if (reason or tree.open) and bool((margins > 0).all()):
            raise Unsound("a tree with open nodes has proved everything")
        docket.raise_margins(one, margins[None], self.name)
        if tree.proof is not None and not (reason or tree.open):
            docket.proofs[k] = tree.proof
        docket.reach(one, torch.tensor([tree.hunt.reached]))
        if tree.hunt.found is not None:
            docket.attacked(one, tree.hunt.found, self.name)
        if k not in docket.fields and not bool((docket.margins[k] > 0).all()):
            docket.reasons[k] = _reason(reason, tree, float(docket.margins[k].min()))


def _reason(stopped: str, tree: Tree, bound: float) -> str:
    """What stopped a tree, and how far it was."""
    stopped = stopped or "cells that cannot be cut further"
    reached = tree.hunt.reached
    gap = f", the lowest margin found is {reached:.4g}" if reached < math.inf else ""
    return f"{stopped} left {tree.open} nodes open, the margin is at least {bound:.4g}{gap}"
