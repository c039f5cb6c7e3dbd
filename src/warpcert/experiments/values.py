"""Tables of what was measured besides verdicts, beside the published numbers."""

from __future__ import annotations

from warpcert.data import ZOO
from warpcert.experiments.measured import Measured, read_measured
from warpcert.experiments.plan import Plan
from warpcert.experiments.work import Workshop
from warpcert.run.number import read_number
from warpcert.run.report.columns import Column
from warpcert.run.report.markdown import write_columns
from warpcert.run.report.words import DASH, write_number

LARGE = "224 x 224 x 3"


def write_accuracy(plan: Plan, workshop: Workshop) -> str:
    """Correct images of every network; of several counts, the largest stands."""
    found: dict[str, Measured] = {}
    for row in read_measured(workshop.place(plan)):
        if ZOO[row["network"]].sha256 != row["sha256"]:
            continue  # of a network that is no more
        if row["network"] not in found or found[row["network"]]["n"] <= row["n"]:
            found[row["network"]] = row
    rows = list(found.values())
    paper = plan.options["paper"]
    return write_columns(
        [
            Column("network", tuple(row["network"] for row in rows), is_number=False),
            Column("paper %", tuple(_cell(paper.get(row["network"]), ".2f") for row in rows)),
            Column("ours %", tuple(f"{100 * row['accuracy']:.2f}" for row in rows)),
            Column("correct / all", tuple(f"{row['correct']} / {row['n']}" for row in rows)),
            Column(
                "training", tuple(ZOO[row["network"]].training for row in rows), is_number=False
            ),
        ]
    )


def write_coverage(plan: Plan, workshop: Workshop) -> str:
    """The part of the bounds that random fields reach, for each kind of image."""
    groups: dict[str, list[Measured]] = {}
    for row in read_measured(workshop.place(plan)):
        groups.setdefault(_kind(row), []).append(row)
    shares = [
        100 * sum(row["reached"] for row in rows) / sum(row["possible"] for row in rows)
        for rows in groups.values()
    ]
    paper = plan.options["paper"]
    return write_columns(
        [
            Column("images", tuple(_told(name) for name in groups), is_number=False),
            Column("paper %", tuple(_cell(paper.get(name), ".2f") for name in groups)),
            Column("ours %", tuple(f"{share:.2f}" for share in shares)),
            Column("n", tuple(f"{len(rows)}" for rows in groups.values())),
        ]
    )


def write_geometry(plan: Plan, workshop: Workshop) -> str:
    """Seconds for intervals under each norm and for planes, for each kind of image and device."""
    groups: dict[tuple[str, str], dict[str, float]] = {}
    for row in read_measured(workshop.place(plan)):
        norm = write_number(read_number(row["norm"]))
        column = f"{row['what']} T{norm}"
        groups.setdefault((_kind(row), row["device"]), {})[column] = row["seconds"]
    columns = list(dict.fromkeys(column for found in groups.values() for column in found))
    planes = "planes T∞"
    paper: dict[str, float] = plan.options["paper"]
    return write_columns(
        [
            Column("image", tuple(_told(kind) for kind, _ in groups), is_number=False),
            Column("device", tuple(device for _, device in groups), is_number=False),
            *(
                Column(column, tuple(_cell(found.get(column), ".3g") for found in groups.values()))
                for column in columns
            ),
            Column("paper planes", tuple(_cell(paper.get(kind), ".3g") for kind, _ in groups)),
            Column(
                "times faster",
                tuple(
                    f"{paper[kind] / found[planes]:.0f}" if planes in found else DASH
                    for (kind, _), found in groups.items()
                ),
            ),
        ]
    )


def _kind(row: Measured) -> str:
    """What a row's image is of."""
    if row["side"] is not None:
        return LARGE
    return "MNIST" if row["images"].startswith("mnist") else "CIFAR-10"


def _told(kind: str) -> str:
    return f"{kind} (enlarged photographs)" if kind == LARGE else kind


def _cell(value: float | None, form: str) -> str:
    return DASH if value is None else format(value, form)
