"""Row: one verdict as a line of a results file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, final

from warpcert.attacks import SEED
from warpcert.core.verdict import Status, Verdict
from warpcert.run.gallery import Gallery
from warpcert.run.item import Item, Key
from warpcert.run.number import read_number, write_number
from warpcert.run.task import Task

MARGINS = ("margin", "reached")


@final
@dataclass(frozen=True)
class Row:
    """A verdict, and of what it is one; ``field`` is the path of the witness, if there is one.

    ``task`` is the digest of the task; ``steps`` the seconds that each method took, on ``device``.
    Attacks draw from ``seed``; ``reached`` is the lowest margin that they met, inf where they met
    none: an unknown image's true margin is between the proved one and that.
    """

    task: str
    index: int
    image: str
    label: int
    norm: float
    delta: float
    gamma: float
    border: str
    status: Status
    margin: float
    rival: int | None
    method: str
    seconds: float
    steps: Mapping[str, float]
    reason: str
    field: str | None = None
    version: str = ""
    device: str = ""
    seed: int = SEED
    reached: float = math.inf

    @property
    def key(self) -> Key:
        """What names it within its task."""
        return self.delta, self.gamma, self.index

    def at(self, field: str) -> Row:
        """The row with the path of its witness."""
        return replace(self, field=field)

    @property
    def json(self) -> dict[str, Any]:
        """The row as JSON: infinity is the string "inf", a margin without a bound is null."""
        value = {part.name: getattr(self, part.name) for part in fields(self)}
        numbers = {name: write_number(value[name]) for name in ("delta", "gamma", *MARGINS)}
        norm = write_number(self.norm)
        norm = int(norm) if isinstance(norm, float) else norm
        steps = dict(self.steps)
        return value | numbers | {"norm": norm, "status": self.status.value, "steps": steps}

    @property
    def line(self) -> bytes:
        """The row as one line, its end included."""
        return json.dumps(self.json, allow_nan=False, ensure_ascii=True).encode("ascii") + b"\n"

    @staticmethod
    def parse(line: bytes) -> Row:
        """The row that a line holds; what is not one is a `ValueError`."""
        try:
            value = json.loads(line)
            value = {
                part.name: value[part.name]
                for part in fields(Row)
                if part.default is MISSING or part.name in value
            }
            names = ("norm", "delta", "gamma", *(name for name in MARGINS if name in value))
            numbers = {name: read_number(value[name]) for name in names}
            status = {"status": Status(value["status"])}
            if not isinstance(value["task"], str) or not isinstance(value["index"], int):
                raise ValueError("its task or its index is none")
            return Row(**value | numbers | status)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a verdict: {error!r}") from None


def make_row(
    task: Task, gallery: Gallery, item: Item, verdict: Verdict, device: str = "cpu"
) -> Row:
    """The row of a verdict on an item; it names no witness yet."""
    return Row(
        task.digest,
        item.index,
        gallery.names[item.place],
        verdict.label,
        task.norm,
        item.delta,
        item.gamma,
        task.border,
        verdict.status,
        verdict.margin,
        None if verdict.rival < 0 else verdict.rival,
        verdict.method,
        verdict.seconds,
        dict(verdict.spent),
        verdict.reason,
        version=task.version,
        device=device,
        reached=verdict.reached,
    )
