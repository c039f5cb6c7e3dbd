"""`Finding`: one verdict, as a line of a results file holds it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from warpcert.core import Status
from warpcert.data import parse_spec


@dataclass(frozen=True)
class Finding:
    """A verdict on the image that `image` names, under one threat.

    ``margin`` is None where nothing finite is known, ``rival`` where there is none. ``field`` is
    the path of the field that changes the label, relative to the results file.
    """

    task: str
    index: int | None
    image: str
    label: int
    norm: float
    delta: float
    gamma: float
    border: str
    status: Status
    margin: float | None
    rival: int | None
    method: str
    seconds: float
    steps: Mapping[str, float]
    reason: str
    field: str | None

    @property
    def meaning(self) -> str:
        """The name of the label's class, or its number."""
        return name_class(self.image, self.label)

    @property
    def against(self) -> str:
        """The name of the rival class, its number, or nothing."""
        return "" if self.rival is None else name_class(self.image, self.rival)

    @property
    def threat(self) -> tuple[float, str, float, float]:
        """Norm, border, gamma and delta."""
        return self.norm, self.border, self.gamma, self.delta


def parse_finding(line: str) -> Finding:
    """The verdict that a line of JSON holds; what is none is a `ValueError` that names the key."""
    try:
        found = json.loads(line, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    read = _Reader(found)
    border = read.text("border", "clamp")
    if border not in ("clamp", "inside"):
        raise ValueError(f"border must be clamp or inside, got {border!r}")
    return Finding(
        task=read.text("task", ""),
        index=None if found.get("index") is None else read.whole("index"),
        image=read.text("image"),
        label=read.whole("label"),
        norm=read.norm(),
        delta=read.number("delta"),
        gamma=read.number("gamma"),
        border=border,
        status=read.status(),
        margin=read.margin(),
        rival=None if found.get("rival") is None else read.whole("rival"),
        method=read.text("method", ""),
        seconds=read.number("seconds", finite=True),
        steps=read.steps(),
        reason=read.text("reason", ""),
        field=None if found.get("field") is None else read.text("field"),
    )


@lru_cache(maxsize=4096)
def name_class(image: str, label: int) -> str:
    """The name of a class of the data set that an image is from, or the class's number."""
    try:
        classes = parse_spec(image).dataset.classes
    except ValueError:  # a path
        return f"{label}"
    return classes[label] if 0 <= label < len(classes) else f"{label}"


def mend(text: str) -> str:
    """The text with halves of characters, which JSON can hold and files cannot, written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class _Reader:
    """The values of a JSON object, each checked."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.found = found

    def text(self, key: str, default: str | None = None) -> str:
        value = self.found.get(key, default)
        if value is None and default is not None:
            return default
        return mend(value) if isinstance(value, str) else self._refuse(key, "a string")

    def whole(self, key: str) -> int:
        value = self.found.get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            self._refuse(key, "a whole number")
        return value

    def number(self, key: str, *, finite: bool = False) -> float:
        value = _as_float(self.found.get(key))
        if value is None or not value >= 0 or (finite and value == math.inf):
            self._refuse(key, "a number >= 0" + ("" if finite else ' or "inf"'))
        return value

    def norm(self) -> float:
        value = _as_float(self.found.get("norm"))
        return value if value in (1, 2, math.inf) else self._refuse("norm", '1, 2 or "inf"')

    def margin(self) -> float | None:
        value = self.found.get("margin")
        if value is None:
            return None
        number = _as_float(value)
        if number is None:
            self._refuse("margin", "a number or null")
        return number if math.isfinite(number) else None

    def status(self) -> Status:
        value = self.found.get("status")
        names = [status.value for status in Status]
        return Status(value) if value in names else self._refuse("status", f"one of {names}")

    def steps(self) -> Mapping[str, float]:
        steps = self.found.get("steps") or {}
        values = [_as_float(v) for v in steps.values()] if isinstance(steps, dict) else [None]
        seconds = [v for v in values if v is not None and math.isfinite(v)]
        if len(seconds) != len(values):
            self._refuse("steps", "an object of seconds")
        return dict(zip(map(mend, steps), seconds, strict=True))

    def _refuse(self, key: str, what: str) -> NoReturn:
        if key not in self.found:
            raise ValueError(f"it has no {key!r}")
        raise ValueError(f"{key} must be {what}, got {json.dumps(self.found[key])[:60]}")


def _as_float(value: object) -> float | None:
    """A number of JSON, where infinity is the string "inf"."""
    if value in ("inf", "-inf"):
        return float(str(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
