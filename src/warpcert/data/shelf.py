"""`Shelf`: the files of one data set below one data folder."""

from __future__ import annotations

import gzip
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from warpcert.data.catalogue import DATASETS
from warpcert.data.dataset import Arrays, DataFile, Dataset, Split
from warpcert.data.reason import reason

ENVIRONMENT = "WARPCERT_DATA"


@dataclass(frozen=True)
class Shelf:
    """The files of a data set below `root`; `named` says that the user chose that folder.

    Files may be plain or end in .gz, in any of the data set's folders; a plain file and an earlier
    folder win. Every file is checked against the official SHA-256 before its content is used.
    """

    dataset: Dataset
    root: Path
    named: bool

    @property
    def folder(self) -> Path:
        """Where `fetch` puts the files."""
        return self.root / self.dataset.folders[0]

    @property
    def missing(self) -> tuple[DataFile, ...]:
        """The files that are not there."""
        return tuple(file for file in self.dataset.files if self.find(file) is None)

    @property
    def damaged(self) -> tuple[DataFile, ...]:
        """The files that are there but are not the official ones (this reads them all)."""
        return tuple(
            file
            for file in self.dataset.files
            if self.find(file) is not None and not self.holds(file)
        )

    def find(self, file: DataFile) -> Path | None:
        """The path of `file`, or None; its content is not looked at."""
        for folder in self.dataset.folders:
            for name in (file.name, f"{file.name}.gz"):
                path = self.root / folder / name
                if os.path.isfile(path):  # noqa: PTH113 - Path raises where asking is forbidden
                    return path
        return None

    def holds(self, file: DataFile) -> bool:
        """Whether `file` is there with the official content."""
        try:
            self.read(file)
        except ValueError:
            return False
        return True

    def read(self, file: DataFile) -> bytes:
        """The uncompressed content of `file`, checked."""
        path = self.find(file)
        if path is None:
            raise ValueError(
                f"{self.dataset.title}: no {file.name} (or .gz) in {self.root} "
                f"or its folder {self.dataset.folders[0]}: {ways_out(self.dataset)}"
            )
        content = _content(path, file.size + 1)
        if len(content) != file.size:
            size = f"only {len(content)}" if len(content) < file.size else f"more than {file.size}"
            raise ValueError(
                f"{path} has {size} bytes of content, the official file has {file.size}: replace it"
            )
        if (sha256 := hashlib.sha256(content).hexdigest()) != file.sha256:
            raise ValueError(
                f"{path} is not the official {file.name} of {self.dataset.title} "
                f"(SHA-256 {sha256}, expected {file.sha256}): replace it"
            )
        return content

    def read_split(self, split: Split) -> Arrays:
        """Images (N, C, H, W) and labels (N,) of a whole split."""
        return self.dataset.parse(tuple(self.read(file) for file in split.files))


def open_shelf(dataset: Dataset | str, root: str | os.PathLike[str] | None = None) -> Shelf:
    """The shelf of a data set below `root`.

    Without `root` this is the folder named by the environment variable WARPCERT_DATA; without that
    the user's cache directory. A named folder has to exist.
    """
    if isinstance(dataset, str):
        dataset = _known(dataset)
    chosen = os.fspath(root) if root is not None else os.environ.get(ENVIRONMENT)
    if not chosen and root is None:
        from platformdirs import user_cache_dir  # noqa: PLC0415 - only this needs it

        return Shelf(dataset, Path(user_cache_dir("warpcert", appauthor=False), "data"), False)
    folder = Path(os.path.expanduser(chosen or ""))  # noqa: PTH111 - no home, no error
    if not chosen or not os.path.isdir(folder):  # noqa: PTH112 - as above
        origin = ENVIRONMENT if root is None else "root"
        raise ValueError(f"{origin}={chosen!r} is not a folder: create it or name another")
    return Shelf(dataset, folder, True)


def ways_out(dataset: Dataset) -> str:
    """What a user can do who lacks the files of `dataset`."""
    return (
        f"use {dataset.name}:0-{dataset.bundled - 1} (these come with the package), "
        f"or name a folder that holds the files (root= or {ENVIRONMENT}), "
        f"or download them where there is a network (warpcert.data.fetch({dataset.name!r}))"
    )


def _known(name: str) -> Dataset:
    """The data set of this name."""
    if name not in DATASETS:
        raise ValueError(f"no data set is named {name!r}: use one of {', '.join(DATASETS)}")
    return DATASETS[name]


def _content(path: Path, most: int) -> bytes:
    """The first `most` bytes of a plain or gzipped file, uncompressed."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rb") as packed:
                return packed.read(most)
        with path.open("rb") as plain:
            return plain.read(most)
    except Exception as error:  # gzip and zlib raise errors of several unrelated classes
        raise ValueError(f"{path} cannot be read ({reason(error)}): replace it") from None
