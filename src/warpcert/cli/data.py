"""`warpcert data`: the data sets that have a name, and where they are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpcert.cli.refusal import Refusal, refusing
from warpcert.cli.screen import Format, FormatOption, print_json, print_line, print_table

if TYPE_CHECKING:
    from typer import Context

    from warpcert.data import Shelf
else:
    Context = typer.Context.__mro__[1]  # what typer hands over is not its own class


DATA_EXAMPLES = """\b
Examples:
  warpcert data
  warpcert data fetch mnist cifar10
"""

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="DIR", help="Folder of the data sets. [default: WARPCERT_DATA or a cache]"
    ),
]
NamesArgument = Annotated[list[str], typer.Argument(metavar="NAME...", help="Such as mnist.")]

data = typer.Typer(name="data", add_completion=False, rich_markup_mode=None)


@data.callback(invoke_without_command=True, epilog=DATA_EXAMPLES)
def listing(context: Context, form: FormatOption = Format.TEXT, folder: DataOption = None) -> None:
    """List the data sets, or fetch them."""
    if context.invoked_subcommand is not None:
        if folder is not None or form is not Format.TEXT:
            raise Refusal("options come last: warpcert data fetch NAME --data DIR")
        return
    from warpcert.data import DATASETS, open_shelf

    with refusing():
        shelves = [open_shelf(dataset, folder) for dataset in DATASETS.values()]
    if form is Format.JSON:
        print_json([_json(shelf) for shelf in shelves])
        return
    headings = ("name", "images", "in the package", "whole set", "licence")
    print_table(dict.fromkeys(headings, "left"), [_row(shelf) for shelf in shelves])
    print_line(f"Whole sets are below {shelves[0].root} (--data or WARPCERT_DATA name another).")


@data.command()
def fetch(names: NamesArgument, folder: DataOption = None) -> None:
    """Download whole data sets; files that are there and right are kept."""
    from warpcert.data import DATASETS
    from warpcert.data import fetch as download

    if unknown := [name for name in names if name not in DATASETS]:
        raise Refusal(f"no data set is named {unknown[0]!r}: use one of {', '.join(DATASETS)}")
    for name in names:
        with refusing():
            place = download(name, folder, progress=sys.stderr.isatty())
        print_line(f"{name}: {place}")


def _json(shelf: Shelf) -> dict[str, Any]:
    """What there is of a data set, as JSON."""
    dataset, missing = shelf.dataset, shelf.missing
    return {
        "name": dataset.name,
        "title": dataset.title,
        "shape": list(dataset.shape),
        "test": dataset.test.count,
        "train": dataset.train.count,
        "bundled": _bundled(shelf),
        "present": not missing,
        "missing": [file.name for file in missing],
        "folder": str(_folder(shelf)),
        "licence": dataset.licence,
    }


def _row(shelf: Shelf) -> tuple[str, ...]:
    """What there is of a data set, as cells."""
    dataset, missing = shelf.dataset, len(shelf.missing)
    files = len(dataset.files)
    where = f"in {_folder(shelf).relative_to(shelf.root)}"
    some = f"{files - missing} of {files} files, {where}"
    state = {0: f"yes, {where}", files: "no"}.get(missing, some)
    return (
        dataset.name,
        " x ".join(map(str, dataset.shape)),
        _bundled(shelf),
        state,
        dataset.licence,
    )


def _bundled(shelf: Shelf) -> str:
    """The spec of the images that come with the package."""
    return f"{shelf.dataset.name}:0-{shelf.dataset.bundled - 1}"


def _folder(shelf: Shelf) -> Path:
    """Where the files are, or else where `fetch` would put them."""
    found = {path.parent for file in shelf.dataset.files if (path := shelf.find(file)) is not None}
    return found.pop() if len(found) == 1 else shelf.folder
