"""Plan: named runs of training, read from a TOML file."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from warpcert.train.options import Options, flag_of

_OPTIONS = {flag_of(option.name).replace("-", "_"): option.name for option in fields(Options)}
"""The options as a plan writes them: as on the command line, but with underscores."""


@dataclass(frozen=True)
class Entry:
    """One run of a plan; ``ships`` says that its network is to come with the package."""

    name: str
    options: Options
    ships: bool = True

    @property
    def words(self) -> list[str]:
        """Its options as words for `python -m warpcert.train`."""
        return self.options.words


def read_plan(path: Path) -> dict[str, Entry]:
    """The entries of a file, by name.

    A table ``[networks.NAME]`` holds options, as `warpcert train` has them but with underscores,
    on top of those of ``[defaults]``. An option with a list of values makes one entry of each,
    whose name says which.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    usual = content.get("defaults", {})
    entries: dict[str, Entry] = {}
    for name, table in content.get("networks", {}).items():
        for full, values in _spread(name, {**usual, **table}):
            if full in entries:
                raise ValueError(f"{path}: {full} is there twice")
            entries[full] = _entry(path, full, values)
    if not entries:
        raise ValueError(f"{path} has no table [networks.NAME]")
    return entries


def _entry(path: Path, name: str, values: dict[str, Any]) -> Entry:
    ships = bool(values.pop("ships", True))
    unknown = values.keys() - _OPTIONS.keys()
    if unknown:
        raise ValueError(f"{path}: {name} has no option {', '.join(sorted(unknown))}")
    missing = [name for name in ("arch", "dataset", "epochs") if name not in values]
    if missing:
        raise ValueError(f"{path}: {name} needs {', '.join(missing)}")
    try:
        return Entry(
            name, Options(**{_OPTIONS[key]: value for key, value in values.items()}), ships
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {name}: {error}") from None


def _spread(name: str, table: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """One table for each choice among the options that are lists."""
    lists = {key: value for key, value in table.items() if isinstance(value, list)}
    for choice in itertools.product(*lists.values()):
        picked = dict(zip(lists, choice, strict=True))
        suffix = "".join(f"-{key.replace('_', '')}{value}" for key, value in picked.items())
        yield name + suffix, {**table, **picked}
