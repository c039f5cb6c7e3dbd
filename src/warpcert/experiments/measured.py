"""Measured: rows of measurements, kept case by case."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from warpcert import __version__
from warpcert.core.device import name_device
from warpcert.core.undisturbed import undisturbed
from warpcert.experiments.measure import Accuracy, Coverage, GeometryTimes, Measurement

FILE = "measured.jsonl"

MEASUREMENTS: dict[str, type[Measurement]] = {
    "accuracy": Accuracy,
    "coverage": Coverage,
    "geometry": GeometryTimes,
}

Measured = Mapping[str, Any]


def measure(
    measurement: Measurement, folder: Path, device: str, listener: Callable[[str], None]
) -> None:
    """Measure every case that the folder does not hold for this device, and keep it at once."""
    path, name = folder / FILE, name_device(device)
    folder.mkdir(parents=True, exist_ok=True)
    known = list(read_measured(folder))
    cases = [
        case
        for case in measurement.cases()
        if not any(row["device"] == name and case.items() <= row.items() for row in known)
    ]
    torn = path.exists() and not path.read_bytes().endswith(b"\n")
    for number, case in enumerate(cases, start=1):
        found = {**case, **measurement(case, device), "device": name, "version": __version__}
        line = json.dumps(found, allow_nan=False).encode() + b"\n"
        with undisturbed(), path.open("ab") as stream:
            stream.write(b"\n" + line if torn else line)
            stream.flush()
            os.fsync(stream.fileno())
        torn = False
        listener(f"{number}/{len(cases)} measured")


def read_measured(folder: Path) -> Iterator[Measured]:
    """The rows of a folder; a line that a crash has torn is passed over."""
    path = folder / FILE
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row
