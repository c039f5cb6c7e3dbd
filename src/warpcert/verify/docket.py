"""Docket: images before the court, and what is known of each so far."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from warpcert.attacks import Attacked
from warpcert.bound import Bounds, margin_rows
from warpcert.core.errors import Unsound
from warpcert.core.inputset import InputSet
from warpcert.core.verdict import Status, Verdict
from warpcert.flow import DeformedImage, Threat
from warpcert.net import Network
from warpcert.verify.relax import Relaxation, relax


class Docket:
    """A network, images (B, C, H, W) with labels (B,), and a threat: one problem for each image.

    ``margins`` (B, classes - 1) are proved from below; ``reached`` (B,) are the lowest margins
    that attacks have found, at ``fields`` (by image); ``notes`` say what a certificate rests on
    besides proof. Steps write here, verdicts are read off.
    """

    def __init__(
        self,
        network: Network,
        images: Tensor,
        labels: Tensor,
        threat: Threat,
        relaxation: Relaxation = "hull",
    ) -> None:
        self.network, self.images, self.labels = network, images, labels
        self.threat, self.relaxation = threat, relaxation
        self.rows = margin_rows(labels, network.classes)
        self.clean = (self.rows @ network(images)[..., None]).squeeze(-1)
        self.wrong = ~(self.clean > 0).all(1)
        self.margins = torch.full_like(self.clean, -math.inf)
        self.reached = torch.full_like(self.clean[:, 0], math.inf)
        self.rivals: dict[int, int] = {}
        self.fields: dict[int, Tensor] = {}
        self.proofs: dict[int, object] = {}
        self.methods = [""] * len(labels)
        self.spent: list[dict[str, float]] = [{} for _ in labels]
        self.reasons = [""] * len(labels)
        self.notes = [""] * len(labels)
        self._bounds: tuple[Tensor, Bounds] | None = None

    @property
    def undecided(self) -> Tensor:
        """Numbers of the images that are neither wrong nor proved nor refuted."""
        proved = (self.margins > 0).all(1)
        refuted = torch.zeros_like(self.wrong)
        refuted[list(self.fields)] = True
        return (~self.wrong & ~proved & ~refuted).nonzero().squeeze(1)

    def inputs(self, which: Tensor) -> InputSet:
        """The relaxed sets of some images."""
        return relax(self.images[which], self.threat, self.relaxation)

    def members(self, which: Tensor) -> InputSet:
        """The sets of some images as they are, for attacks."""
        return DeformedImage(self.images[which], self.threat)

    def known(self, which: Tensor) -> Bounds | None:
        """Bounds proved before, if they cover these images."""
        if self._bounds is None:
            return None
        heard, bounds = self._bounds
        places = {int(k): i for i, k in enumerate(heard)}
        if any(int(k) not in places for k in which):
            return None
        return bounds.select(torch.tensor([places[int(k)] for k in which], device=which.device))

    def prove(self, which: Tensor, bounds: Bounds, method: str) -> None:
        """Enter what a bounder has proved."""
        self._bounds = (which, bounds)
        self.raise_margins(which, bounds.margins, method)

    def raise_margins(self, which: Tensor, margins: Tensor, method: str) -> None:
        """Enter margins (n, classes - 1) proved for some images."""
        proved = margins.to(self.margins).nan_to_num(nan=-math.inf)  # no number, no proof
        self.margins[which] = torch.maximum(self.margins[which], proved)
        for k in which.tolist():
            self.methods[k] = method

    def believe(self, k: int, bounds: Bounds, method: str, note: str) -> None:
        """Enter bounds of an image (1, ...) that rest on a solver's word; the verdict says so."""
        self.prove(torch.tensor([k], device=self.labels.device), bounds, method)
        self.notes[k] = note

    def attacked(self, which: Tensor, found: Attacked, method: str) -> None:
        """Enter what an attack has met: the lowest margins, and fields that change labels."""
        self.reach(which, found.margins)
        for place, k in enumerate(which.tolist()):
            if bool(found.fooled[place]):
                margin, rival = float(found.margins[place]), int(found.rivals[place])
                self.refute(k, found.parameters[place], margin, rival, method)

    def refute(self, k: int, field: Tensor, margin: float, rival: int, method: str) -> None:
        """Enter a field (H, W, 2) that changes an image's label."""
        self.fields[k], self.rivals[k], self.methods[k] = field.cpu(), rival, method
        self.reached[k] = margin

    def reach(self, which: Tensor, margins: Tensor) -> None:
        """Enter the lowest margins (n,) that an attack has found."""
        self.reached[which] = torch.minimum(self.reached[which], margins.to(self.reached))

    def excuse(self, reason: str) -> None:
        """Say why what is undecided now was not tried further."""
        for k in self.undecided.tolist():
            self.reasons[k] = reason

    def spend(self, which: Tensor, step: str, seconds: float) -> None:
        """Enter a step's time, shared by its images."""
        for k in which.tolist():
            self.spent[k][step] = self.spent[k].get(step, 0.0) + seconds / len(which)

    def verdicts(self) -> list[Verdict]:
        """What is to be said of every image."""
        return [self._verdict(k) for k in range(len(self.labels))]

    def _verdict(self, k: int) -> Verdict:
        label, reached = int(self.labels[k]), float(self.reached[k])
        worst, place = (self.clean if self.wrong[k] else self.margins)[k].min(0)
        margin, rival = float(worst), int(place) + (int(place) >= label)
        method, reason, field = self.methods[k], "", None
        if k in self.fields:
            status, field, rival = Status.FALSIFIED, self.fields[k], self.rivals[k]
            if margin > 0:
                raise Unsound(f"image {k} is certified, and a field changes its label")
            margin = reached
        elif bool(self.wrong[k]) and not math.isnan(margin):
            status, method, reached = Status.MISCLASSIFIED, "", margin
        elif margin > 0:
            status, reason = Status.CERTIFIED, self.notes[k]
        else:
            status, reason = Status.UNKNOWN, self.reasons[k] or _reason(margin, rival, reached)
            margin = -math.inf if math.isnan(margin) else margin
        spent, proof = dict(self.spent[k]), None
        if status is Status.CERTIFIED:
            proof = self.proofs.get(k)
        seconds = sum(spent.values())
        return Verdict(
            status, label, rival, margin, method, seconds, reason, field, reached, spent, proof
        )


def _reason(margin: float, rival: int, reached: float) -> str:
    """Why an image is unknown, in a few words."""
    if math.isnan(margin):
        return "the network's scores of the image as it is are not numbers"
    if margin > -math.inf:
        return f"the margin against class {rival} is bounded by {margin:.4g} only, not above 0"
    if reached < math.inf:
        return f"no field was found that changes the label, the lowest margin is {reached:.4g}"
    return f"the margin against class {rival} has no finite bound"
