"""`warpcert nets`: the networks that come with the package."""

from __future__ import annotations

from dataclasses import asdict

from warpcert.cli.screen import Format, FormatOption, Side, print_json, print_line, print_table

COLUMNS: dict[str, Side] = {
    "name": "left",
    "data set": "left",
    "architecture": "left",
    "training": "left",
    "eps": "right",
    "right": "right",
    "certified": "right",
}


def nets(form: FormatOption = Format.TEXT) -> None:
    """List the networks that come with the package, and how each was made."""
    from warpcert.data import ZOO

    entries = [asdict(specimen) for specimen in ZOO.values()]
    if form is Format.JSON:
        print_json(entries)
        return
    rows = [
        (
            *(entry[key] for key in ("name", "dataset", "architecture", "training", "eps")),
            *(f"{entry[key]:.1%}" for key in ("accuracy", "certified")),
        )
        for entry in entries
    ]
    print_table(COLUMNS, rows)
    print_line(
        "right, certified: of the 10,000 test images, as they are and on the whole L-inf ball of "
        "radius eps."
    )
