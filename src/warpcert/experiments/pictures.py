"""Pictures of fields: what bending does to a few images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from warpcert.attacks import FrankWolfe
from warpcert.core.verdict import Status
from warpcert.data import load_images
from warpcert.experiments.figures import (
    Pane,
    Strip,
    bend,
    draw_comparison,
    draw_introduction,
    draw_overview,
    find_worst,
)
from warpcert.experiments.plan import Plan
from warpcert.experiments.work import Workshop
from warpcert.flow import Threat
from warpcert.net import Network, load_network
from warpcert.run import Row as Verdict
from warpcert.run.number import read_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIELDS = FrankWolfe(steps=50, restarts=3)
"""The strongest attack begins with translations, and where one of them will do it ends there."""


def picture_introduction(plan: Plan, _: Workshop) -> dict[str, Figure]:
    """An image bent without and with smoothness, as an attack bends it."""
    network = load_network(plan.options["network"])
    images, labels = load_images(plan.options["image"])
    threats = [
        Threat("inf", each["delta"], read_number(each["gamma"])) for each in plan.options["threats"]
    ]
    image, label = images[0], int(labels[0])
    bent = {threat: find_worst(network, image, label, threat, method=FIELDS) for threat in threats}
    return {plan.name: draw_introduction(image, label, bent)}


def picture_overview(plan: Plan, _: Workshop) -> dict[str, Figure]:
    """The paper's example: candidates and planes."""
    return {plan.name: draw_overview()}


def picture_comparison(plan: Plan, workshop: Workshop) -> dict[str, Figure]:
    """One image for each delta, and what is known of it for each gamma."""
    rows: list[Strip] = []
    gammas: dict[float, None] = {}
    for run in plan.runs:
        verdicts = workshop.rows(plan, run)
        images, labels = load_images(run.images)
        network, place = load_network(run.network), workshop.place(plan)
        found = {each.gamma: _pane(network, each, images[0], place) for each in verdicts}
        panes = {gamma: pane for gamma, pane in found.items() if pane is not None}
        gammas |= dict.fromkeys(run.gammas)
        if panes:
            rows.append(Strip(run.deltas[0], images[0], int(labels[0]), panes))
    return {plan.name: draw_comparison(rows, list(gammas))} if rows else {}


def _pane(network: Network, verdict: Verdict, image: Tensor, place: Path) -> Pane | None:
    """A verdict with the field that was kept for it, or else with the worst that is found."""
    path = None if verdict.field is None else place / verdict.field
    if path is not None and path.exists():
        with np.load(path) as arrays:
            return Pane(verdict.status, bend(network, image, torch.from_numpy(arrays["field"])))
    threat = Threat(verdict.norm, verdict.delta, verdict.gamma)
    worst = find_worst(network, image, verdict.label, threat)
    if verdict.status is Status.FALSIFIED and worst.seen == verdict.label:
        return None  # found once by a longer search, and its field is not here
    return Pane(verdict.status, worst)
