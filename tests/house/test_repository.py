"""The promises of the repository's own files to whoever clones it."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
import torch
from jaxtyping import TypeCheckError
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from warpcert.flow.region import Region

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", read("Makefile"), flags=re.MULTILINE))


def pins() -> dict[str, Requirement]:
    found = [Requirement(line) for line in read("constraints.txt").splitlines()]
    return {canonicalize_name(pin.name): pin for pin in found}


def direct() -> list[Requirement]:
    lines = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    return [Requirement(line) for line in lines]


def needed() -> Iterator[Requirement]:
    """All requirements of this environment, those of requirements included.

    One that its parent already pins exactly is left out: torch does so with its GPU libraries.
    """
    queue, seen = direct(), set()
    while queue:
        requirement = queue.pop()
        if str(requirement) in seen or is_exact(requirement):
            continue
        seen.add(str(requirement))
        yield requirement
        try:
            children = [Requirement(line) for line in requires(requirement.name) or []]
        except PackageNotFoundError:
            continue
        extras = ["", *requirement.extras]
        queue += [
            child
            for child in children
            if child.marker is None or any(child.marker.evaluate({"extra": e}) for e in extras)
        ]


def is_exact(requirement: Requirement) -> bool:
    return any(part.operator == "==" and "*" not in part.version for part in requirement.specifier)


def test_readme_names_commands_that_exist() -> None:
    named = set(re.findall(r"\bmake ([a-z]+)\b", read("README.md")))
    assert {"demo", "test"} <= named
    assert {"demo", "test", "bench", "clean"} <= targets()


def test_contributing_names_commands_that_exist() -> None:
    named = re.findall(r"^make ([a-z]+)\b", read("CONTRIBUTING.md"), flags=re.MULTILINE)
    assert named
    assert set(named) <= targets()


def test_continuous_integration_runs_make_test() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert re.search(r"^(exec )?make test$", read(".ci/run"), flags=re.MULTILINE)


def test_constraints_pin_exactly_one_version_each() -> None:
    lines = read("constraints.txt").splitlines()
    assert len(pins()) == len(lines)
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line) for line in lines)
    assert lines == sorted(lines, key=lambda line: line.partition("==")[0])


def test_constraints_pin_all_that_is_declared() -> None:
    for requirement in direct():
        pin = pins()[canonicalize_name(requirement.name)]
        (version,) = pin.specifier
        assert requirement.specifier.contains(version.version), f"{pin} is not in {requirement}"


def test_constraints_pin_all_that_comes_along() -> None:
    missing = {canonicalize_name(requirement.name) for requirement in needed()} - pins().keys()
    assert not missing


def test_declared_ranges_are_wide() -> None:
    for line in PROJECT["dependencies"]:
        operators = {part.operator for part in Requirement(line).specifier}
        assert operators == {">="}, line


def test_shapes_are_checked_while_testing() -> None:
    with pytest.raises(TypeCheckError):
        Region(norm=2.0, delta=1.0, lower=-torch.ones(3), upper=torch.ones(3))
