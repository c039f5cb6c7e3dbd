"""`warpcert report`: verdicts as a page, a picture or tables."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpcert.cli.refusal import Refusal, refusing
from warpcert.cli.save import check_target, save_figure, whole_file
from warpcert.cli.screen import print_line, printable

if TYPE_CHECKING:
    from warpcert.run.report import Findings

REPORT_EXAMPLES = """\b
Examples:
  warpcert report results.jsonl --out report.html
  warpcert report results.jsonl --format md
  warpcert report results.jsonl --out rows.csv
"""


class ReportFormat(StrEnum):
    """The forms that a report can take."""

    HTML = "html"
    CSV = "csv"
    MD = "md"
    PNG = "png"


ResultsArgument = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="A file that 'warpcert certify --out' wrote.")
]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Where to write the report.")
]
FormOption = Annotated[
    ReportFormat | None, typer.Option("--format", help="By default what --out ends in, or html.")
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Folder with whole data sets.")
]


def report(
    results: ResultsArgument,
    out: OutOption = None,
    form: FormOption = None,
    data: DataOption = None,
) -> None:
    """Show verdicts as a page that opens offline, a picture or tables.

    Tables (csv, md) are printed when no file is named. The page has the images, the fields that
    bend them, and filters.
    """
    form = form or _guess(out)
    if out is not None:
        _check(out, results, form)
    elif form in (ReportFormat.HTML, ReportFormat.PNG):
        raise Refusal(f"a report as {form.value} needs a file: name it with --out report.{form}")
    from warpcert.run.report import read_findings

    with refusing():
        findings = read_findings(results)
    if form is ReportFormat.PNG:
        assert out is not None
        _draw(findings, out)
    else:
        text = _write(findings, form, data)
        if out is None:
            print(text, end="", flush=True)
        else:
            with whole_file(out) as stream:
                stream.write(text.encode("utf-8"))
    if out is not None:
        _tell(findings, out)
    for note in findings.notes:
        print(f"warpcert: {printable(note)}", file=sys.stderr)


def _guess(out: Path | None) -> ReportFormat:
    """The format that a file's name ends in."""
    suffix = "" if out is None else out.suffix.lower()[1:]
    return ReportFormat(suffix) if suffix in list(ReportFormat) else ReportFormat.HTML


def _check(out: Path, results: Path, form: ReportFormat) -> None:
    """Refuse a file that could not be written, before any work is done."""
    if form is ReportFormat.PNG and out.suffix.lower() != ".png":
        raise Refusal(f"{out} is to be a png: let --out end in .png")
    check_target(out.with_name(f"{out.name}.png") if form is not ReportFormat.PNG else out)
    if os.path.isdir(out):  # noqa: PTH112 - Path raises where asking is forbidden
        raise Refusal(f"{out} is a folder: name a file to write")
    if os.path.realpath(out) == os.path.realpath(results):
        raise Refusal(f"{out} holds the results: let --out name another file")


def _write(findings: Findings, form: ReportFormat, data: Path | None) -> str:
    from warpcert.run.report import write_csv, write_markdown, write_page

    if form is ReportFormat.CSV:
        return write_csv(findings.rows)
    if form is ReportFormat.MD:
        return write_markdown(findings)
    return write_page(findings, data)


def _draw(findings: Findings, out: Path) -> None:
    from warpcert.run.report import draw_findings
    from warpcert.run.report.style import house_style

    with house_style():
        figure = draw_findings(findings)
    save_figure(figure, out)


def _tell(findings: Findings, out: Path) -> None:
    """One line for each threat, and where the report is."""
    from warpcert.run.report import tabulate

    for line in tabulate(findings.rows):
        task = f"task {line.task}, " if line.task else ""
        border = "" if line.border == "clamp" else f", border {line.border}"
        threat = f"{task}T{line.norm:g}, delta {line.delta:g}, gamma {line.gamma:g}{border}"
        print_line(f"{threat}: {line.counts} (certified / correct / all)")
    size = out.stat().st_size
    print_line(f"report: {out} ({size / 1000:,.0f} kB)")
