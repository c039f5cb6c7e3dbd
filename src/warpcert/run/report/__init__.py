"""Verdicts as people read them: a page, a picture, tables, and rows for other programs."""

from warpcert.run.report.figure import draw_findings
from warpcert.run.report.finding import Finding, parse_finding
from warpcert.run.report.findings import Findings, read_findings
from warpcert.run.report.flat import write_csv
from warpcert.run.report.markdown import write_markdown
from warpcert.run.report.page import write_page
from warpcert.run.report.table import Line, tabulate

__all__ = [
    "Finding",
    "Findings",
    "Line",
    "draw_findings",
    "parse_finding",
    "read_findings",
    "tabulate",
    "write_csv",
    "write_markdown",
    "write_page",
]
