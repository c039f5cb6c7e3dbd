"""The mathematics needs nothing but torch and numpy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# torch may use whatever it likes: what it has brought in stays, and nothing else comes.
PROGRAM = """
import sys
import numpy
import torch

present = {name.partition(".")[0] for name in sys.modules}
allowed = present | set(sys.stdlib_module_names) | {"warpcert"}

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise ModuleNotFoundError(f"blocked: {name}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def run(statement: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM + statement],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("statement", ["import warpcert", "import warpcert.core, warpcert.flow"])
def test_imports_with_torch_and_numpy_alone(statement: str) -> None:
    done = run(statement)
    assert done.returncode == 0, done.stderr


def test_the_blocker_blocks() -> None:
    done = run("import PIL")
    assert done.returncode == 1
    assert "blocked: PIL" in done.stderr
