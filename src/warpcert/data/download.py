"""`fetch`: download a data set, check it, and only then put it in place."""

from __future__ import annotations

import hashlib
import http.client
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.request import urlopen

from warpcert.data.bar import Advance, show_bar
from warpcert.data.dataset import DataFile, Dataset, Download, Stream
from warpcert.data.reason import reason
from warpcert.data.shelf import ENVIRONMENT, Shelf, open_shelf, ways_out

_CHUNK = 1 << 18
_SLACK = 1 << 20  # bytes that an archive may be larger than what it holds
_STALE = 3600.0  # seconds without a write after which a temporary file has no owner any more


def fetch(
    dataset: Dataset | str,
    root: str | os.PathLike[str] | None = None,
    *,
    progress: bool = True,
    timeout: float = 30.0,
) -> Path:
    """Make sure that all files of a data set are on its shelf; the folder they are in.

    The files go below `root`, else below the folder named by WARPCERT_DATA, else into the user's
    cache directory. Files that are there and right are kept, damaged ones are replaced. A file gets
    its name only when it is complete and has the official SHA-256, so that an interruption leaves
    nothing behind and several processes may fetch at once. `timeout` is for one network operation,
    in seconds; `progress` shows a bar on standard error.
    """
    if root is not None:
        _make_folder(Path(os.path.expanduser(root)))  # noqa: PTH111 - no home, no error
    shelf = open_shelf(dataset, root)
    wanted = [
        download
        for download in shelf.dataset.downloads
        if not all(shelf.holds(file) for file in download.files)
    ]
    if wanted:
        _make_folder(shelf.folder)
        _sweep(shelf.folder)
    for download in wanted:
        with show_bar(download.path, progress) as advance:
            _fetch_one(shelf, download, timeout, advance)
    return shelf.folder


def _fetch_one(shelf: Shelf, download: Download, timeout: float, advance: Advance) -> None:
    """Download one archive and put the files it holds in place."""
    url = f"{shelf.dataset.url}/{download.path}"
    most = sum(file.size for file in download.files) + _SLACK
    try:
        with _temporary(shelf.folder / Path(download.path).name) as (archive, _):
            for chunk in _receive(shelf.dataset, url, timeout, advance):
                if archive.tell() + len(chunk) > most:
                    raise ValueError(f"{url} sent more than {most} bytes, which is too much")
                archive.write(chunk)
            archive.seek(0)
            missing = _unpack(archive, download, shelf.folder, url)
    except OSError as error:  # those of the network and of the archive have been dealt with
        raise ValueError(
            f"cannot write to {shelf.folder} ({reason(error)}): "
            f"make room, or name another folder (root= or {ENVIRONMENT})"
        ) from None
    if missing:
        raise ValueError(f"{url} does not hold {', '.join(missing)}: {ways_out(shelf.dataset)}")


def _unpack(archive: IO[bytes], download: Download, folder: Path, url: str) -> list[str]:
    """Put the files of an archive in place; the names of those which it lacks."""
    missing = {file.name: file for file in download.files}
    members = download.unpack(archive, tuple(missing))
    while missing and (member := _next_member(members, url)) is not None:
        name, stream = member
        if name in missing:
            _place(folder / name, missing.pop(name), stream, url)
    return list(missing)


def _receive(dataset: Dataset, url: str, timeout: float, advance: Advance) -> Iterator[bytes]:
    """The body of a URL in chunks; complete when this ends without an error."""
    try:
        with urlopen(url, timeout=timeout) as response:
            promised = response.length
            while chunk := response.read(_CHUNK):
                advance(len(chunk), promised)
                yield chunk
            if response.length:
                raise ConnectionError(f"it broke off {response.length} bytes before its end")
    except (OSError, http.client.HTTPException) as error:
        raise ValueError(f"cannot download {url} ({reason(error)}): {ways_out(dataset)}") from None


def _next_member(members: Iterator[tuple[str, Stream]], url: str) -> tuple[str, Stream] | None:
    """The next file of an archive, or None at its end."""
    try:
        return next(members, None)
    except Exception as error:  # tarfile, gzip and zlib raise errors of several unrelated classes
        raise ValueError(f"{url} sent a damaged archive ({reason(error)}): try again") from None


def _place(target: Path, file: DataFile, content: Stream, url: str) -> None:
    """Write `content` to `target` if it is the official content, else leave `target` alone."""
    digest, left = hashlib.sha256(), file.size
    with _temporary(target) as (stream, path):
        while left and (chunk := _unpacked(content, min(left, _CHUNK), url)):
            left -= len(chunk)
            digest.update(chunk)
            stream.write(chunk)
        if left or _unpacked(content, 1, url) or digest.hexdigest() != file.sha256:
            raise ValueError(
                f"{url} sent another {file.name} than the official one "
                f"(SHA-256 {file.sha256}): try again, or get the file elsewhere"
            )
        stream.flush()
        os.fsync(stream.fileno())
        stream.close()  # Windows renames closed files only
        path.replace(target)


def _unpacked(content: Stream, size: int, url: str) -> bytes:
    """Up to `size` bytes of an archive's member."""
    try:
        return content.read(size)
    except Exception as error:  # see _next_member
        raise ValueError(f"{url} sent a damaged archive ({reason(error)}): try again") from None


@contextmanager
def _temporary(target: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """A new file beside `target` under a name of its own, gone at the end unless renamed."""
    path = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with path.open("x+b") as stream:
            yield stream, path
    finally:
        path.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove temporary files whose process died without a chance to do it."""
    for path in folder.glob(".*.part"):
        try:
            if time.time() - path.stat().st_mtime > _STALE:
                path.unlink()
        except OSError:
            continue  # somebody else was faster, or may do it later


def _make_folder(folder: Path) -> None:
    """Create a folder and those above it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"cannot create the folder {folder} ({reason(error)}): name another"
        ) from None
