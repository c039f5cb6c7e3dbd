"""Desk: where verdicts on a few images are made."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from warpcert.core.errors import Unsupported
from warpcert.core.memory import is_shortage, release
from warpcert.core.verdict import Status, Verdict
from warpcert.net import Network
from warpcert.run.task import Task
from warpcert.verify import certify

Certify = Callable[..., Verdict | list[Verdict]]


@final
@dataclass(frozen=True, eq=False)
class Desk:
    """A task's network on a device, and its method."""

    task: Task
    network: Network
    certify: Certify = certify

    def __call__(self, delta: float, gamma: float, images: Tensor, labels: Tensor) -> list[Verdict]:
        """Verdicts on images (B, C, H, W) with labels (B,), under one of the task's threats.

        Where memory runs out, the images are taken one by one, and what does not fit even alone
        is unknown; so is what cannot be bounded.
        """
        start = time.perf_counter()
        try:
            found = self.certify(
                self.network,
                images,
                labels,
                self.task.threat(delta, gamma),
                self.task.method,
                relaxation=self.task.relaxation,
                timeout=self.task.timeout,
                solver=self.task.solver,
                intersect=self.task.intersect,
            )
            assert isinstance(found, list)
            return found
        except Unsupported as error:
            reason = f"unsupported: {error}"
        except (RuntimeError, MemoryError) as error:
            if not is_shortage(error):
                raise
            reason = "memory: there is not enough of it for this image"
        release(torch.device(self.network.device))
        if len(images) > 1:
            return [
                verdict
                for one, its in zip(images.split(1), labels.split(1), strict=True)
                for verdict in self(delta, gamma, one, its)
            ]
        return [give_up(int(labels[0]), reason, time.perf_counter() - start)]


def give_up(label: int, reason: str, seconds: float = 0.0) -> Verdict:
    """The verdict on an image of which nothing could be computed."""
    return Verdict(Status.UNKNOWN, label, -1, -math.inf, "", seconds, reason)
