"""`warpcert nets`: the networks of the zoo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warpcert.cli.screen import Format, FormatOption, Side, print_json, print_line, print_table

if TYPE_CHECKING:
    from warpcert.data import Specimen

COLUMNS: dict[str, Side] = {
    "name": "left",
    "data set": "left",
    "architecture": "left",
    "training": "left",
    "threat": "left",
    "certified / correct / all": "right",
    "size": "right",
}


def nets(form: FormatOption = Format.TEXT) -> None:
    """List the networks of the zoo, what they are worth, and how each was made."""
    from warpcert.data import ZOO

    if form is Format.JSON:
        print_json([_json(specimen) for specimen in ZOO.values()])
        return
    print_table(COLUMNS, [_row(specimen) for specimen in ZOO.values()])
    print_line(
        "certified / correct / all: test images that interval propagation proves safe from the "
        "threat, that are classified rightly, and that there are."
    )
    absent = [specimen for specimen in ZOO.values() if not specimen.ships]
    for specimen in absent:
        print_line(f"{specimen.name} is to be made: {specimen.command} --out FOLDER")
    print_line("--format json tells the command that made each.")


def _row(specimen: Specimen) -> tuple[str, ...]:
    size = f"{specimen.bytes / 1e6:.1f} MB" if specimen.ships else "to be made"
    return (
        specimen.name,
        specimen.dataset,
        specimen.architecture,
        specimen.training,
        specimen.threat,
        str(specimen.test),
        size,
    )


def _json(specimen: Specimen) -> dict[str, Any]:
    """All that is known, as JSON has it."""
    known = dict(vars(specimen))
    for key in ("test", "bundled"):
        known[key] = vars(known[key])
    known["test_by_delta"] = {k: vars(v) for k, v in specimen.test_by_delta.items()}
    return {**known, "accuracy": specimen.accuracy, "certified": specimen.certified}
