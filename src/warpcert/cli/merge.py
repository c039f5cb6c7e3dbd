"""`warpcert merge`: the results of several machines in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpcert.cli.refusal import Refusal, refusing
from warpcert.cli.screen import Format, FormatOption, print_json, print_line
from warpcert.cli.verdicts import print_summary, report_each

MERGE_EXAMPLES = """\b
Examples:
  warpcert certify NET --images mnist --shard 1/2 --out one.jsonl
  warpcert certify NET --images mnist --shard 2/2 --out two.jsonl
  warpcert merge one.jsonl two.jsonl --out all.jsonl
"""

FilesArgument = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Results of one task, with their sidecars.")
]
OutOption = Annotated[Path, typer.Option("--out", metavar="FILE", help="A new results file.")]


def merge(files: FilesArgument, out: OutOption, form: FormatOption = Format.TEXT) -> None:
    """Put the results of one task together, each verdict once.

    Verdicts that contradict each other are an error. Fields are copied.
    """
    from warpcert.run import StoreError
    from warpcert.run import merge as join

    try:
        with refusing():
            results = join(files, out)
    except StoreError as error:
        raise Refusal(str(error)) from None
    task = results.task
    assert task is not None
    reports = report_each(task.network.name, task.threats, results.rows, {})
    if form is Format.JSON:
        print_json(
            {
                "network": task.network.name,
                "task": task.digest,
                "out": str(out),
                "verdicts": len(results.rows),
                "asked": len(task.items),
                "summary": [report.summary_json for report in reports],
            }
        )
        return
    print_line(f"{task}")
    print_summary(reports)
    missing = len(task.items) - len(results.rows)
    rest = f", {missing} are missing" if missing else ""
    print_line(f"{out}: {len(results.rows)} of {len(task.items)} verdicts{rest}")
