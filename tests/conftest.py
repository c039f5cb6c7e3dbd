"""What every test relies on: checked shapes, repeatable randomness, one thread per worker."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator

import jaxtyping
import numpy as np
import pytest
import torch
from hypothesis import settings

from tests import typechecker

# Annotations such as Float[Tensor, "B C"] become checks, for modules imported from here on.
if "warpcert" in sys.modules:
    raise RuntimeError("warpcert was imported before its shapes could be checked")
jaxtyping.install_import_hook("warpcert", f"{typechecker.__name__}.check")

pytest.register_assert_rewrite("tests.contract")

# The same examples on every machine, and on request a longer search with new ones.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=40, print_blob=True)
settings.register_profile("thorough", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Workers share the machine: more threads than one each would only fight over it.
torch.set_num_threads(1)

# A job in the background may be deaf to Ctrl-C, and what tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No test needs a screen.
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture
def unwatched() -> Iterator[None]:
    """Run a test as users run the package: misuse meets its own checks, not the type checker."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start every test from the same seeds, whichever tests ran before it."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests first, so that no worker is left alone with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
