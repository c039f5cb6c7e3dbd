"""Unpackers: the files inside a downloaded archive, as streams.

Nothing is extracted to the names that an archive gives: the caller asks for file names it knows
and decides where their content goes.
"""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath
from typing import IO

from warpcert.data.dataset import Stream


def unpack_gzip(archive: IO[bytes], wanted: Collection[str]) -> Iterator[tuple[str, Stream]]:
    """The one wanted file, which is the whole content of a .gz."""
    (name,) = wanted
    with gzip.GzipFile(fileobj=archive, mode="rb") as stream:
        yield name, stream


def unpack_tar(archive: IO[bytes], wanted: Collection[str]) -> Iterator[tuple[str, Stream]]:
    """The wanted files of a .tar.gz, found by the last part of their names; all else is skipped."""
    with tarfile.open(fileobj=archive, mode="r:gz") as tar:
        for member in tar:
            name = PurePosixPath(member.name).name
            stream = tar.extractfile(member) if member.isreg() and name in wanted else None
            if stream is not None:
                with stream:
                    yield name, stream
