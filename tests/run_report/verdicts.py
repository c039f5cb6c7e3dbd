"""Results files to report on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import warpcert as wc

Row = dict[str, Any]


def row(**changes: Any) -> Row:
    """A certified image, and what is different about this one."""
    plain = {
        "task": "0123456789abcdef",
        "index": 0,
        "image": "mnist:0",
        "label": 7,
        "norm": "inf",
        "delta": 0.5,
        "gamma": "inf",
        "border": "clamp",
        "status": "certified",
        "margin": 1.25,
        "rival": 3,
        "method": "deeppoly",
        "seconds": 0.5,
        "steps": {"interval": 0.125, "deeppoly": 0.375},
        "reason": "",
        "field": None,
    }
    return plain | changes


def write(path: Path, rows: Iterable[Row], end: str = "") -> Path:
    """A results file, with something behind its last line."""
    path.write_text("".join(json.dumps(each) + "\n" for each in rows) + end, encoding="utf-8")
    return path


def bend(folder: Path, index: int, name: str = "fields/bent.npz") -> str:
    """A field that moves an image half a pixel to the left and one up, as a file."""
    images, _ = wc.load_images(f"mnist:{index}")
    field = torch.tensor([0.5, 1.0], dtype=torch.float64).expand(1, 28, 28, 2)
    warped = wc.warp(images.double(), field)[0].float()
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    np.savez(path, field=field[0].numpy(), image=images[0].numpy(), warped=warped.numpy())
    return name


def mixed(folder: Path) -> list[Row]:
    """Ten images under two threats: every status, three methods, one field that is missing."""
    rows = []
    for gamma in ("inf", 0.1):
        for k in range(10):
            rows.append(row(index=k, image=f"mnist:{k}", label=k, gamma=gamma, margin=0.5 + k))
        rows[-1] |= {"status": "misclassified", "margin": -1.0, "method": "", "seconds": 0.0}
        rows[-2] |= {"status": "unknown", "margin": None, "rival": None, "method": "alpha"}
        rows[-2] |= {"reason": "no time left", "seconds": 20.0}
        rows[-3] |= {"status": "falsified", "margin": -0.25, "method": "attack"}
        rows[-3] |= {"field": bend(folder, 7), "rival": 9}
    rows[-3]["field"] = "fields/lost.npz"
    return rows
