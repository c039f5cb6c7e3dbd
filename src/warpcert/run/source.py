"""NetworkSource: where a network comes from, and what it is."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from warpcert.data import ZOO

_BESIDE = b"location"
"""An ONNX file that keeps data in other files names them under this key."""


@final
@dataclass(frozen=True)
class NetworkSource:
    """A file by name or path, the SHA-256 of what it holds, and how its input is prepared.

    Two sources with the same contents are one network, whatever they are called.
    """

    name: str
    sha256: str
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    layout: str = "nchw"
    shape: tuple[int, ...] | None = None

    @property
    def contents(self) -> dict[str, Any]:
        """What decides which function it is."""
        return {key: value for key, value in self.json.items() if key != "name"}

    @property
    def json(self) -> dict[str, Any]:
        """The source as JSON."""
        return asdict(self)

    @staticmethod
    def from_json(value: Any) -> NetworkSource:
        """The source that `json` wrote."""
        mean, std, shape = (
            None if value[key] is None else tuple(value[key]) for key in ("mean", "std", "shape")
        )
        return NetworkSource(value["name"], value["sha256"], mean, std, value["layout"], shape)


def hash_network(name: str) -> str:
    """The SHA-256 of a network's file, and of the files beside it that hold its data."""
    path = ZOO[name].path if name in ZOO else Path(name)
    try:
        content = path.read_bytes()
        found = hashlib.sha256(content)
        if _BESIDE in content:
            for other in sorted(path.parent.iterdir()):
                if other != path and other.is_file() and other.name.encode() in content:
                    found.update(hashlib.sha256(other.read_bytes()).digest())
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    return found.hexdigest()
