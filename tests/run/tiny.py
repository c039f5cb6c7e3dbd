"""A small task: a linear network, made-up images, and verdicts to order."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import nn

import warpcert as wc
from warpcert.core.verdict import Status, Verdict
from warpcert.run import Gallery, Item, NetworkSource, Row, Task
from warpcert.run.row import make_row

SOURCE = NetworkSource("net.onnx", "ab" * 32)


@cache
def network() -> wc.Network:
    torch.manual_seed(0)
    return wc.Network.from_module(nn.Sequential(nn.Flatten(), nn.Linear(16, 3)).eval(), (1, 4, 4))


@cache
def gallery(count: int = 5) -> Gallery:
    images = torch.rand(count, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    labels = network()(images).argmax(1)
    names = tuple(f"some.npz[{k}]" for k in range(count))
    return Gallery("some.npz", images, labels, tuple(range(count)), names)


def task(count: int = 5, **changes: Any) -> Task:
    threats = [wc.Threat("inf", delta, gamma) for delta in (0.1, 0.2) for gamma in (math.inf, 0.05)]
    return replace(Task.of(SOURCE, gallery(count), threats, "interval"), **changes)


def verdict(status: str = "certified", label: int = 1, **changes: Any) -> Verdict:
    """A verdict of that status, with the evidence that it needs."""
    made = {
        "certified": Verdict(Status.CERTIFIED, label, 0, 0.5, "interval", 0.01),
        "falsified": Verdict(
            Status.FALSIFIED, label, 0, -0.5, "pgd", 0.02, field=torch.full((4, 4, 2), 0.1)
        ),
        "unknown": Verdict(Status.UNKNOWN, label, 0, -0.5, "alpha", 0.03, "a gap"),
        "misclassified": Verdict(Status.MISCLASSIFIED, label, 0, -0.5, "", 0.0),
    }
    return replace(made[status], **changes)


def row(item: Item, status: str = "certified", of: Task | None = None, **changes: Any) -> Row:
    of = of or task()
    return replace(make_row(of, gallery(len(of.indices)), item, verdict(status)), **changes)
