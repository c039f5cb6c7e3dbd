"""Certify: a verdict for each image."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from warpcert.core.memory import chunk_size
from warpcert.core.verdict import Verdict
from warpcert.flow import Threat
from warpcert.net import Network
from warpcert.verify.cascade import Cascade
from warpcert.verify.docket import Docket
from warpcert.verify.methods import proving_steps, steps
from warpcert.verify.problem import as_batch, check_problem
from warpcert.verify.relax import Relaxation

KNOWN_ARRAYS = 16
"""Float64 arrays of every layer's size that are kept for one image, about."""


def certify(  # noqa: PLR0913 - the last ones are for comparisons and checks
    network: Network,
    images: Tensor,
    labels: Tensor | int,
    threat: Threat,
    method: str = "auto",
    *,
    timeout: float | None = None,
    relaxation: Relaxation = "hull",
    intersect: bool = True,
    solver: str = "highs",
    proof: bool = False,
) -> Verdict | list[Verdict]:
    """Say whether bending can change a label: one Verdict for an image (C, H, W) and its label,
    a list for a batch (B, C, H, W) and labels (B,).

    Methods: "interval", "deeppoly", "alpha", "lp", "krelu", each tighter and slower than the one
    before; "complete" cuts the field and decides neurons until an image is decided (see `Tree`);
    "milp" decides by programs with integers, and says in ``reason`` where a certificate rests on
    the word of the ``solver`` ("highs", or the extras "scip" and "gurobi", also for "lp"); "auto"
    tries cheap methods and an attack first, and branches on what is still undecided; "attack" only
    looks for fields. An image is certified when the lower bound of every margin is above zero, and
    falsified when an attack finds a field of the threat that changes its label. ``timeout`` are
    seconds for each image; images of a batch share theirs. With ``proof`` a certified verdict has
    the tree's closed cells and leaves, made with bounds plain enough for `check_proof`.
    """
    if timeout is not None and not 0 <= timeout < math.inf:
        raise ValueError(f"timeout must be a number of seconds >= 0, or None, got {timeout}")
    tried = proving_steps(method) if proof else steps(method, intersect, solver)
    cascade = Cascade(tried, timeout)
    images, labels, alone = as_batch(images, labels)
    verdicts = _decide(network, images, labels, threat, cascade, relaxation)
    return verdicts[0] if alone else verdicts


def _decide(
    network: Network,
    images: Tensor,
    labels: Tensor,
    threat: Threat,
    cascade: Cascade,
    relaxation: Relaxation,
) -> list[Verdict]:
    """Verdicts for a batch, in parts that fit into memory."""
    images, labels = check_problem(network, images, labels)
    size = chunk_size(8 * KNOWN_ARRAYS * network.entries, images.device)
    verdicts: list[Verdict] = []
    with torch.inference_mode(False), torch.no_grad():  # searches switch gradients on themselves
        network = network.to(dtype=torch.float64)
        for some, their in zip(images.split(size), labels.split(size), strict=True):
            docket = Docket(network, some, their, threat, relaxation)
            cascade(docket)
            verdicts += docket.verdicts()
    return verdicts
