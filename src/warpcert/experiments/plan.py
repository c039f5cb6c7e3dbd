"""Plan: a table or figure, what is run for it, and what was published."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, final

from warpcert.experiments.run import Engine, Run, Subject
from warpcert.experiments.selection import ALL, Selection
from warpcert.run.number import read_number

PLANS = Path(__file__).parent / "plans"


@final
@dataclass(frozen=True)
class Published:
    """What others report of one of their networks under one threat, by one engine.

    ``rate`` is in per cent of the images that the network gets right, ``seconds`` is the mean for
    an image.
    """

    rate: float | None = None
    seconds: float | None = None


@final
@dataclass(frozen=True)
class Aim:
    """An engine that is to certify at least as much as a published one, so many times faster.

    A mean below ``floor`` seconds is fast enough.
    """

    engine: str
    beside: str
    times: float
    floor: float


@final
@dataclass(frozen=True)
class Plan:
    """One artefact: its title, its runs, how it is shown, and the published numbers.

    ``paper`` says which part of the paper it stands beside, or is empty. ``published`` is by the
    network's name, the engine, the norm, delta and gamma. ``rows_of`` names the plan whose rows it
    shows where it has none of its own. ``measure`` names what is measured besides verdicts, and
    ``options`` are for the view. ``quick`` is the part that takes minutes without a GPU.
    """

    name: str
    title: str
    paper: str
    view: str
    text: str
    runs: tuple[Run, ...] = ()
    rows_of: str = ""
    quick: Selection = ALL
    columns: tuple[str, ...] = ()
    aim: Aim | None = None
    measure: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    published: Mapping[tuple[str, str, float, float, float], Published] = field(
        default_factory=dict
    )

    @property
    def rows(self) -> Plan:
        """The plan whose rows it shows."""
        return load(self.rows_of) if self.rows_of else self


def names() -> list[str]:
    """All plans: those of the paper in its order, then the others."""
    order: list[str] = tomllib.loads((PLANS / "order.toml").read_text("utf-8"))["order"]
    return order


@cache
def load(name: str) -> Plan:
    """The plan of that name; what is none is a `ValueError`."""
    if name not in names():
        known = ", ".join(names())
        raise ValueError(f"there is nothing called {name!r} to reproduce: take {known}")
    value = _read(name)
    return Plan(
        name,
        value["title"],
        value.get("paper", ""),
        value["view"],
        value.get("text", "").strip(),
        tuple(_runs(value)),
        value.get("rows_of", ""),
        _selection(value.get("quick", {})),
        tuple(value.get("columns", ())),
        Aim(**value["aim"]) if "aim" in value else None,
        value.get("measure", ""),
        value.get("options", {}),
        dict(_published(value.get("published", []))),
    )


def _read(name: str) -> dict[str, Any]:
    """A plan's file; one that is ``like`` another has its networks, sweeps and published numbers,
    and those of its engines that it names.
    """
    value = tomllib.loads((PLANS / f"{name}.toml").read_text("utf-8"))
    if "like" not in value:
        return value
    other = _read(value["like"]["plan"])
    same = {key: other[key] for key in ("networks", "sweeps", "published")}
    named = [engine for engine in other["engines"] if engine["name"] in value["like"]["engines"]]
    return {**same, "engines": named, **value}


def _runs(value: Mapping[str, Any]) -> list[Run]:
    """Every network with every engine under every sweep."""
    found: list[Run] = []
    for subject in value.get("networks", []):
        for engine in value["engines"]:
            for sweep in value["sweeps"]:
                images = sweep.get("images", subject["images"])
                only = sweep.get("only")
                if only is not None and engine["name"] not in only:
                    continue
                found.append(
                    Run(
                        _subject(subject),
                        Engine(**engine),
                        images,
                        read_number(sweep.get("norm", "inf")),
                        tuple(map(read_number, sweep["delta"])),
                        tuple(map(read_number, sweep["gamma"])),
                        sweep.get("part", ""),
                    )
                )
    return found


def _subject(value: Mapping[str, Any]) -> Subject:
    mean, std = (tuple(value[key]) if key in value else None for key in ("mean", "std"))
    known = value["name"], value.get("like", ""), value["shown"], value.get("sha256", "")
    return Subject(*known, mean, std)


def _selection(value: Mapping[str, Any]) -> Selection:
    return Selection(
        value.get("images"),
        None if "delta" not in value else tuple(map(read_number, value["delta"])),
        None if "gamma" not in value else tuple(map(read_number, value["gamma"])),
        None if "engines" not in value else tuple(value["engines"]),
        None if "networks" not in value else tuple(value["networks"]),
    )


def _published(
    values: Sequence[Mapping[str, Any]],
) -> list[tuple[tuple[str, str, float, float, float], Published]]:
    """Tables by delta (down) and gamma (across)."""
    found = []
    for value in values:
        norm = read_number(value.get("norm", "inf"))
        for row, delta in enumerate(map(read_number, value["delta"])):
            for column, gamma in enumerate(map(read_number, value["gamma"])):
                rates, seconds = value.get("rates"), value.get("seconds")
                found.append(
                    (
                        (value["network"], value["engine"], norm, delta, gamma),
                        Published(
                            None if rates is None else float(rates[row][column]),
                            None if seconds is None else float(seconds[row][column]),
                        ),
                    )
                )
    return found
