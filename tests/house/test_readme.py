"""The README's Python runs, and does what its comments say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def test_python_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)  # its own assertion is part of it
    assert tuple(names["lowest"].shape) == (10, 1)
    assert tuple(names["margins"].shape) == (5, 9)
    assert capsys.readouterr().out.count("certified") == 5


def test_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
