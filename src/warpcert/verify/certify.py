"""Certify: a verdict for each image."""

from __future__ import annotations

import math
import time

import torch
from torch import Tensor

from warpcert.bound import Bounder, Bounds, margin_rows
from warpcert.core.memory import chunk_size
from warpcert.core.verdict import Status, Verdict
from warpcert.flow import Threat
from warpcert.net import Network
from warpcert.verify.bounds import check_problem
from warpcert.verify.methods import METHODS, bounder
from warpcert.verify.relax import Relaxation, relax

KNOWN_ARRAYS = 16
"""Float64 arrays of every layer's size that are kept for one image, about."""


def certify(
    network: Network,
    images: Tensor,
    labels: Tensor | int,
    threat: Threat,
    method: str = "auto",
    *,
    relaxation: Relaxation = "hull",
    intersect: bool = True,
) -> Verdict | list[Verdict]:
    """Say for an image (C, H, W) and its label, or a batch and labels (B,), whether bending can
    change the label: one Verdict, or a list.

    Methods: "interval", "deeppoly", "alpha", each tighter and slower than the one before, or
    "auto", which tries them in turn on what is still unknown. An image is certified when the
    lower bound of every margin is above zero.
    """
    if not isinstance(labels, (int, Tensor)) or isinstance(labels, bool):
        raise ValueError(f"labels must be a whole number or a tensor of them, got {labels!r}")
    if isinstance(images, Tensor) and images.dim() == 3:
        alone = torch.as_tensor(labels)
        if alone.numel() != 1:
            raise ValueError(f"one image needs one label, got {alone.numel()}")
        alone = alone.reshape(1)
        return _certify(network, images[None], alone, threat, method, relaxation, intersect)[0]
    if isinstance(labels, int):
        raise ValueError(f"a batch of images needs a tensor of labels, got {labels}")
    return _certify(network, images, labels, threat, method, relaxation, intersect)


def _certify(
    network: Network,
    images: Tensor,
    labels: Tensor,
    threat: Threat,
    method: str,
    relaxation: Relaxation,
    intersect: bool,
) -> list[Verdict]:
    images, labels = check_problem(network, images, labels)
    names = list(METHODS) if method == "auto" else [method]
    engines = {name: bounder(name, intersect or method == "auto") for name in names}
    network = network.to(dtype=torch.float64)
    entries = sum(torch.Size(shape).numel() for shape in network.shapes)
    size = chunk_size(8 * KNOWN_ARRAYS * entries, images.device)
    verdicts: list[Verdict] = []
    for some, their in zip(images.split(size), labels.split(size), strict=True):
        court = _Court(network, some, their, threat, relaxation)
        for name, engine in engines.items():
            court.hear(name, engine)
        verdicts += court.verdicts()
    return verdicts


class _Court:
    """Images before the methods: what is proved of them so far."""

    def __init__(
        self,
        network: Network,
        images: Tensor,
        labels: Tensor,
        threat: Threat,
        relaxation: Relaxation,
    ) -> None:
        self.network, self.images, self.labels = network, images, labels
        self.threat, self.relaxation = threat, relaxation
        self.rows = margin_rows(labels, network.classes)
        scores = network(images)
        self.clean = (self.rows @ scores[..., None]).squeeze(-1)
        self.wrong = ~(self.clean > 0).all(1)
        self.margins = torch.full_like(self.clean, -torch.inf)
        self.seconds = torch.zeros(len(labels), dtype=torch.float64)
        self.methods = [""] * len(labels)
        self.bounds: Bounds | None = None
        self.heard = torch.arange(len(labels), device=labels.device)

    def hear(self, name: str, engine: Bounder) -> None:
        """Let a method try on what is not decided."""
        still = ~self.wrong & ~(self.margins > 0).all(1)
        if not bool(still.any()):
            return
        start = time.perf_counter()
        which = still.nonzero().squeeze(1)
        warm = None
        if self.bounds is not None:
            warm = self.bounds.select(torch.isin(self.heard, which).nonzero().squeeze(1))
        inputs = relax(self.images[which], self.threat, self.relaxation)
        self.bounds = engine(self.network, inputs, self.rows[which], warm)
        self.heard = which
        self.margins[which] = torch.maximum(self.margins[which], self.bounds.margins)
        self.seconds[which.cpu()] += (time.perf_counter() - start) / len(which)
        for k in which.tolist():
            self.methods[k] = name

    def verdicts(self) -> list[Verdict]:
        """What is to be said of every image."""
        return [self._verdict(k) for k in range(len(self.labels))]

    def _verdict(self, k: int) -> Verdict:
        label = int(self.labels[k])
        wrong = bool(self.wrong[k])
        worst, place = (self.clean if wrong else self.margins)[k].min(0)
        margin = float(worst)
        rival = int(place) + (int(place) >= label)
        status, reason = Status.UNKNOWN, ""
        if wrong and not math.isnan(margin):
            status = Status.MISCLASSIFIED
        elif margin > 0:
            status = Status.CERTIFIED
        else:
            reason = _reason(margin, rival, wrong)
        return Verdict(
            status,
            label,
            rival,
            -math.inf if math.isnan(margin) else margin,
            self.methods[k],
            float(self.seconds[k]),
            reason,
        )


def _reason(margin: float, rival: int, wrong: bool) -> str:
    """Why an image is unknown, in a few words."""
    if wrong:
        return "the network's scores of the image as it is are not numbers"
    if margin == -math.inf:
        return f"the margin against class {rival} has no finite bound"
    return f"the margin against class {rival} is bounded by {margin:.4g} only, not above 0"
