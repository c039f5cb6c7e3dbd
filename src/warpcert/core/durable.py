"""Files that are whole or not there, also after a crash."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

_PART = ".part"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside ``path``, and give it that name once it is on the disk."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_PART}")
    try:
        with part.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink()
    sync_folder(path.parent)


def sweep(folder: Path, name: str = "") -> None:
    """Remove what a crash has left of files whose name begins so; nobody may be writing them."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(f".{name}") and path.name.endswith(_PART):
                path.unlink()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
