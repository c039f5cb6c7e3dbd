"""No test of this room reaches the network, the user's cache or the user's settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.data.toy import Server, Toy, make_cifar_toy, make_idx_toy, serve


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of an empty cache directory of the test's own."""
    monkeypatch.delenv("WARPCERT_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("no_proxy", "*")
    folder = tmp_path / "cache"
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(folder))
    return folder / "data"


@pytest.fixture
def server() -> Iterator[Server]:
    with serve() as served:
        yield served


@pytest.fixture
def idx_toy() -> Toy:
    return make_idx_toy()


@pytest.fixture
def cifar_toy() -> Toy:
    return make_cifar_toy()


@pytest.fixture(params=[make_idx_toy, make_cifar_toy], ids=["idx", "cifar"])
def toy(request: pytest.FixtureRequest) -> Toy:
    made: Toy = request.param()
    return made


@pytest.fixture(scope="session")
def whole() -> Path:
    """The folder of the whole data sets, for those who have them."""
    if not (folder := os.environ.get("WARPCERT_TEST_DATA")):
        pytest.skip("WARPCERT_TEST_DATA does not name a folder that holds the whole data sets")
    return Path(folder)
