"""`whole_file`: a file that is whole or not there; `save_figure`: a picture as one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from warpcert.cli.refusal import Refusal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Without dates in it, the same picture is the same file.
KINDS: dict[str, dict[str, Any]] = {
    ".png": {},
    ".pdf": {"metadata": {"CreationDate": None}},
    ".svg": {"metadata": {"Date": None}},
}


def check_target(path: Path, source: str = "") -> None:
    """Refuse a picture that could not be saved, before any work is done."""
    if path.suffix.lower() not in KINDS:
        raise Refusal(f"{path} is no kind of picture: let --out end in .png, .pdf or .svg")
    # os.path, since Path raises where asking is forbidden
    folder = os.path.dirname(path) or "."  # noqa: PTH120
    if not os.path.isdir(folder):  # noqa: PTH112
        raise Refusal(f"{path} cannot be written: there is no folder {folder}, create it first")
    if os.path.isdir(path):  # noqa: PTH112
        raise Refusal(f"{path} is a folder: name a file to draw into")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Refusal(f"{path} cannot be written: {folder} is read-only, name another folder")
    if os.path.realpath(path) == os.path.realpath(source):
        raise Refusal(f"{path} is the image itself: let --out name another file")


def save_figure(figure: Figure, path: Path) -> None:
    """Draw a figure into a file."""
    from warpcert.run.report.style import house_style

    suffix = path.suffix.lower()
    with whole_file(path) as stream, house_style():
        figure.savefig(stream, format=suffix[1:], **KINDS[suffix])


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write to a file beside `path`, and give it that name once it is complete."""
    target = path.resolve()
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as stream:
            yield stream
        part.replace(target)
    except OSError as error:
        reason = error.strerror or error
        raise Refusal(f"{path} cannot be written ({reason}): name another file") from None
    finally:
        with suppress(OSError):
            part.unlink()
