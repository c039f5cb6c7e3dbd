"""`read_findings`: the rows of a results file, and what is known of how they were made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpcert.run.report.finding import Finding, mend, parse_finding

FACTS = ("network", "images", "method", "relaxation", "timeout", "version")


@dataclass(frozen=True)
class Findings:
    """The rows of the results file at `path`.

    ``about`` is what the file beside it says of the task (nothing, where there is none), ``notes``
    what was passed over while reading.
    """

    path: Path
    rows: tuple[Finding, ...]
    about: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def told(self) -> dict[str, str]:
        """What of the task is told to people; the rest is for programs."""
        return {key: self.about[key] for key in FACTS if key in self.about}

    @property
    def folder(self) -> Path:
        """Where the paths of fields begin."""
        return self.path.parent


def read_findings(path: Path) -> Findings:
    """Read a results file; one put together of several tasks, or elsewhere, will do.

    A last line that is torn, as a run that was stopped leaves it, is passed over. Of an image that
    one task has judged several times under one threat, the last verdict stands.
    """
    lines = _read(path).split("\n")
    written = [k for k, line in enumerate(lines) if line.strip()]
    rows: list[Finding] = []
    notes: list[str] = []
    for k in written:
        try:
            rows.append(parse_finding(lines[k]))
        except ValueError as error:
            garbled = isinstance(error, json.JSONDecodeError)
            if garbled and rows and k == written[-1]:
                notes.append(f"The last line, {k + 1}, is torn and was passed over.")
                break
            why = "it is not JSON" if garbled else str(error)
            raise ValueError(
                f"{path}, line {k + 1} is no verdict, {why}: mend or remove the line"
            ) from None
    if not rows:
        raise ValueError(
            f"{path} holds no verdicts: name a file that 'warpcert certify --out' has written"
        )
    standing = {(row.task, row.image, row.index, row.threat): row for row in rows}
    if len(standing) < len(rows):
        repeated = len(rows) - len(standing)
        notes.append(f"Lines that a later line replaces: {repeated}. The later ones stand.")
    return Findings(path, tuple(standing.values()), _about(path), tuple(notes))


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8: name a file of JSON lines") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): name another file") from None


def _about(path: Path) -> Mapping[str, str]:
    """What the task's own file says in words and numbers, if it is there."""
    try:
        task: Any = json.loads(path.with_name(f"{path.name}.task.json").read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(task, dict):
        return {}
    network = task.get("network")
    if isinstance(network, dict):  # a file, with what is in it
        task["network"] = network.get("name")
    return {mend(k): mend(_word(v)) for k, v in task.items() if isinstance(v, str | int | float)}


def _word(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)
