"""Pictures of fields: what bending does to a few images."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from warpcert.attacks import FrankWolfe
from warpcert.core.verdict import Status
from warpcert.data import load_images
from warpcert.experiments.figures import (
    Cell,
    bend,
    draw_comparison,
    draw_introduction,
    draw_overview,
    find_worst,
)
from warpcert.experiments.figures import Shown as Strip
from warpcert.experiments.plan import Plan
from warpcert.experiments.run import Run
from warpcert.experiments.work import Workshop
from warpcert.flow import Threat
from warpcert.net import load_network
from warpcert.run import Row as Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIELDS = FrankWolfe(steps=50, restarts=3)
"""The strongest attack begins with translations, and where one of them will do it ends there."""


def picture_introduction(plan: Plan, _: Workshop) -> dict[str, Figure]:
    """An image bent without and with smoothness, as an attack bends it."""
    network = load_network(plan.options["network"])
    images, labels = load_images(plan.options["image"])
    threats = [
        Threat(math.inf, each["delta"], math.inf if each["gamma"] == "inf" else each["gamma"])
        for each in plan.options["threats"]
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
        found = {v.gamma: _cell(run, v, images[0], workshop, plan) for v in verdicts}
        cells = {gamma: cell for gamma, cell in found.items() if cell is not None}
        gammas |= dict.fromkeys(run.gammas)
        if cells:
            rows.append(Strip(run.deltas[0], images[0], int(labels[0]), cells))
    return {plan.name: draw_comparison(rows, list(gammas))} if rows else {}


def _cell(run: Run, verdict: Verdict, image: Tensor, workshop: Workshop, plan: Plan) -> Cell | None:
    """A verdict with the field that was kept for it, or else with the worst that is found."""
    network = load_network(run.network)
    path = None if verdict.field is None else workshop.place(plan) / verdict.field
    if path is not None and path.exists():
        with np.load(path) as arrays:
            return Cell(verdict.status, bend(network, image, torch.from_numpy(arrays["field"])))
    threat = Threat(run.norm, verdict.delta, verdict.gamma)
    worst = find_worst(network, image, verdict.label, threat)
    if verdict.status is Status.FALSIFIED and worst.seen == verdict.label:
        return None  # found once by a longer search, and its field is not here
    return Cell(verdict.status, worst)
