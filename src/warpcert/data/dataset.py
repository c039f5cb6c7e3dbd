"""`Dataset`: what a published data set is made of, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import IO, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Arrays = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""Images (N, C, H, W) and labels (N,)."""

Parser = Callable[[tuple[bytes, ...]], Arrays]
"""Turns the contents of a split's files, in their order, into arrays."""


@runtime_checkable
class Stream(Protocol):
    """What can be read byte by byte."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes, none at the end."""
        ...


Unpacker = Callable[[IO[bytes], Collection[str]], Iterator[tuple[str, Stream]]]
"""Turns a downloaded archive and the wanted file names into (name, stream of content) pairs."""


@dataclass(frozen=True)
class DataFile:
    """One published file; size and SHA-256 are those of the uncompressed content."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Split:
    """One part of a data set: its files in reading order and the number of its images."""

    files: tuple[DataFile, ...]
    count: int


@dataclass(frozen=True)
class Download:
    """One thing to download: its path below the data set's URL and the files it contains."""

    path: str
    files: tuple[DataFile, ...]
    unpack: Unpacker


@dataclass(frozen=True)
class Dataset:
    """A published data set of images of one shape (C, H, W).

    `folders` are the places below a data folder where its files are looked for, the first of them
    the place where they are put by `fetch`. The first `bundled` test images come with the package,
    under the data set's own `licence`.
    """

    name: str
    title: str
    licence: str
    shape: tuple[int, int, int]
    classes: tuple[str, ...]
    test: Split
    train: Split
    url: str
    downloads: tuple[Download, ...]
    folders: tuple[str, ...]
    parse: Parser
    bundled: int = 100

    @property
    def splits(self) -> dict[str, Split]:
        """The splits by name."""
        return {"test": self.test, "train": self.train}

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files, those of the test split first."""
        return self.test.files + self.train.files
